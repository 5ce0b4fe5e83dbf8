// The static list of names, compared with a dictionary.

import DNSWire
import TestSupport
import Testing

@Suite("A list of names")
struct NameListTests {
    private func name(_ text: String) throws -> Name { try #require(Name(text)) }

    private func list(_ entries: [(String, NameList.Scope)]) throws -> NameList {
        var builder = NameList.Builder()
        for (index, entry) in entries.enumerated() {
            builder.add(try name(entry.0).digest, entry.1, line: index + 1)
        }
        return NameList(builder)
    }

    @Test("an entry is for the name, for the names below it, or for both")
    func scopes() throws {
        let list = try list([("exact.example", .exact), ("TREE.example", .tree), ("below.example", .below)])
        #expect(list.count == 3)
        #expect(list.entry(at: try name("Exact.Example"), isWhole: true) == .init(scope: .exact, line: 1))
        #expect(list.entry(at: try name("exact.example"), isWhole: false) == nil)
        #expect(list.entry(at: try name("tree.example"), isWhole: true) == .init(scope: .tree, line: 2))
        #expect(list.entry(at: try name("tree.example"), isWhole: false) == .init(scope: .tree, line: 2))
        #expect(list.entry(at: try name("below.example"), isWhole: true) == nil)
        #expect(list.entry(at: try name("below.example"), isWhole: false) == .init(scope: .below, line: 3))
        #expect(list.entry(at: .root, isWhole: false) == nil)
        #expect(NameList.empty.entry(at: .root, isWhole: true) == nil)
    }

    @Test("of several entries for a name the exact one counts, and of equal ones the first line")
    func several() throws {
        let list = try list([
            ("a.example", .below), ("a.example", .tree), ("a.example", .tree), ("a.example", .exact),
        ])
        #expect(list.count == 3)
        #expect(list.entry(at: try name("a.example"), isWhole: true) == .init(scope: .exact, line: 4))
        #expect(list.entry(at: try name("a.example"), isWhole: false) == .init(scope: .tree, line: 2))
    }

    @Test("lists of every small length and of thousands find what they have and nothing else", arguments: [0, 3_000])
    func lengths(_ start: Int) throws {
        for count in start..<start + 70 {
            let list = try list((0..<count).map { ("n\($0).example", .tree) })
            #expect(list.count == count)
            for index in 0..<count where index < 70 || index > count - 70 {
                #expect(list.entry(at: try name("n\(index).example"), isWhole: false)?.line == index + 1)
            }
            for index in count..<count + 70 {
                #expect(list.entry(at: try name("n\(index).example"), isWhole: false) == nil)
            }
        }
    }

    @Test("a name takes at most 14 bytes, and a digest is that of the name in any case")
    func size() throws {
        let list = try list((0..<10_000).map { ("n\($0).example", .tree) })
        #expect(list.sizeBytes < 140_000)
        let wire = try name("Www.Example").wire.map(\.lowercased)
        #expect(Name.digest(ofLowercased: wire) == (try name("WWW.example")).digest)
    }

    @Test("the digest of a file is that of FNV-1a, whatever the pieces")
    func fileDigest() {
        // The vectors come from the authors' test suite.
        for (pieces, digest) in [([""], 0xCBF2_9CE4_8422_2325), (["foo", "bar"], 0x8594_4171_F739_67E8)]
            as [([String], UInt64)]
        {
            var builder = NameList.Builder()
            for piece in pieces { builder.fileDigest.add(Array(piece.utf8)) }
            #expect(NameList(builder).fileDigest.value == digest)
        }
    }
}
