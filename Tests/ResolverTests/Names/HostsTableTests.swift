// The file /etc/hosts as people and programs write it.

import DNSWire
import Testing

@testable import Resolver

@Suite("/etc/hosts")
struct HostsTableTests {
    private func answer(_ text: String, _ name: String, _ type: RecordType) throws -> Answer? {
        HostsFiles([HostsTable(parsing: Array(text.utf8))]).answer(Question(try #require(Name(name)), type))?.answer
    }

    private func addresses(_ text: String, _ name: String, _ type: RecordType = .a) throws -> [String]? {
        try answer(text, name, type)?.addresses.map(\.description)
    }

    @Test("a line gives its address to each of its names")
    func names() throws {
        let text = "192.0.2.1\tone.example  one\talias.example\n"
        for name in ["one.example", "one", "alias.example", "ONE.Example"] {
            #expect(try addresses(text, name) == ["192.0.2.1"])
        }
        #expect(try answer(text, "two.example", .a) == nil)
        #expect(try answer(text, "www.one.example", .a) == nil)
        #expect(try answer(text, "example", .a) == nil)
    }

    @Test("a name may have several addresses, in the order of the file and each once")
    func severalAddresses() throws {
        let text = "192.0.2.2 n.example\n192.0.2.1 n.example N.EXAMPLE\n2001:db8::1 n.example\n192.0.2.2 n.example\n"
        #expect(try addresses(text, "n.example") == ["192.0.2.2", "192.0.2.1"])
        #expect(try addresses(text, "n.example", .aaaa) == ["2001:db8::1"])
    }

    @Test("a name with addresses of one family has none of the other, and no service bindings")
    func otherFamily() throws {
        let text = "192.0.2.1 n.example"
        for type in [RecordType.aaaa, .https, .svcb] {
            let answer = try answer(text, "n.example", type)
            #expect(answer?.kind == .noData && answer?.ttlSeconds == 10)
        }
    }

    @Test("other types are not the file's business", arguments: [RecordType.mx, .txt, .ns, .soa, .ptr, .caa])
    func otherTypes(_ type: RecordType) throws {
        #expect(try answer("192.0.2.1 n.example", "n.example", type) == nil)
    }

    @Test("an address leads back to the first of its names")
    func pointers() throws {
        let text = "192.0.2.1 first.example second\n192.0.2.1 third.example\n::1 six.example\n"
        let pointer = try #require(try answer(text, "1.2.0.192.in-addr.arpa", .ptr))
        #expect(pointer.records.map(\.data) == [Name("first.example")?.wire])
        #expect(pointer.records.map(\.type) == [.ptr] && pointer.ttlSeconds == 10)
        let reverse = try #require(Address("::1")).reverseName.description
        #expect(try answer(text, reverse, .ptr)?.records.first?.data == Name("six.example")?.wire)
        #expect(try answer(text, reverse, .a) == nil)
        #expect(try answer(text, "2.2.0.192.in-addr.arpa", .ptr) == nil)
    }

    @Test("it speaks of its names and of its addresses' reverse names, and of no others")
    func speaks() throws {
        let text = "192.0.2.1 n.example alias\n# 192.0.2.2 no.example\n"
        let files = HostsFiles([HostsTable(parsing: Array(text.utf8))])
        for (name, isSpokenOf) in [
            ("N.example", true), ("alias", true), ("1.2.0.192.IN-ADDR.arpa", true), ("example", false),
            ("www.n.example", false), ("no.example", false), ("2.2.0.192.in-addr.arpa", false), (".", false),
        ] {
            #expect(files.speaks(of: try #require(Name(name))) == isSpokenOf, "\(name)")
        }
        #expect(!HostsFiles.none.speaks(of: .root))
    }

    @Test(
        "what cannot be used is passed over, and the rest holds",
        arguments: [
            "# 192.0.2.9 n.example", "#192.0.2.9 n.example", "192.0.2.9 # n.example", "192.0.2.9", "n.example",
            "n.example 192.0.2.9", "192.0.2.999 n.example", "192.0.2 n.example", "0x7f.1 n.example", "", "   ", "\t",
            "fe80::1%lo n.example", "192.0.2.9 n..example .n.example", "192.0.2.9 né.example",
            "\u{0}192.0.2.9 n.example",
            "192.0.2.9 " + String(repeating: "a", count: 64) + ".example", "192.0.2.9:53 n.example",
        ])
    func badLines(_ line: String) throws {
        let text = "192.0.2.1 before.example\n\(line)\n192.0.2.2 after.example n.example\n"
        #expect(try addresses(text, "before.example") == ["192.0.2.1"])
        #expect(try addresses(text, "after.example") == ["192.0.2.2"])
        #expect(try addresses(text, "n.example") == ["192.0.2.2"])
    }

    @Test("one bad name does not spoil its line")
    func badName() throws {
        #expect(try addresses("192.0.2.1 bad..name good.example", "good.example") == ["192.0.2.1"])
    }

    @Test("line ends of Windows, a missing last one and comments behind names are taken")
    func lineEnds() throws {
        #expect(try addresses("192.0.2.1 a.example\r\n192.0.2.2 b.example\r\n", "a.example") == ["192.0.2.1"])
        #expect(try addresses("192.0.2.1 a.example", "a.example") == ["192.0.2.1"])
        #expect(try addresses("192.0.2.1 a.example#b.example", "a.example") == ["192.0.2.1"])
        #expect(try addresses("192.0.2.1 a.example # b.example", "b.example") == nil)
    }

    @Test("bytes that are no text are passed over")
    func bytes() throws {
        let junk: [UInt8] = [0xFF, 0xFE, 0x0A, 0x31, 0x20, 0xC3, 0x0A]
        let files = HostsFiles([HostsTable(parsing: junk + Array("192.0.2.1 a.example\n".utf8) + junk)])
        #expect(files.answer(Question(try #require(Name("a.example")), .a))?.answer.addresses.count == 1)
    }

    @Test("a final dot makes no other name")
    func finalDot() throws {
        #expect(try addresses("192.0.2.1 a.example.", "a.example") == ["192.0.2.1"])
    }

    @Test("a name has at most 64 addresses, and the others are counted")
    func manyAddresses() throws {
        let text = (0..<20_000).map { "10.0.\($0 / 256).\($0 % 256) many.example\n" }.joined()
        let table = HostsTable(parsing: Array(text.utf8))
        #expect(table.count == 64)
        #expect(table.ignored.count == 20_000 - 64)
        #expect(try answer(text, "many.example", .a)?.records.count == 64)
    }
}
