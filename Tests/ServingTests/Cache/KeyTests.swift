// Names folded to lower case eight bytes at a time, and their hash.

@testable import Serving
import DNSWire
import TestSupport
import Testing

struct KeyTests {
    private let seed: (UInt64, UInt64) = (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)

    @Test("every byte folds at every place of a word as it does alone", arguments: 0..<8)
    func folding(place: Int) {
        for byte in UInt8.min...UInt8.max {
            for neighbour in [0x00, 0x41, 0x5A, 0x7F, 0x80, 0xFF] as [UInt8] {
                var source = [UInt8](repeating: neighbour, count: 8)
                source[place] = byte
                #expect(folded(source) == source.map(\.lowercased), "\(byte) at \(place)")
            }
        }
    }

    @Test("names of every length are folded whole, with zeros behind them")
    func lengths() {
        var random = SeededRandom(seed: 4)
        for count in 1...255 {
            let source = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            let padding = [UInt8](repeating: 0, count: (8 - count % 8) % 8)
            #expect(folded(source) == source.map(\.lowercased) + padding, "\(count) bytes")
        }
    }

    @Test("a shorter name leaves nothing of the longer one before it")
    func reuse() {
        var name = FoldedName()
        let long = [UInt8](repeating: 0x61, count: 255)
        let short: [UInt8] = [1, 0x41, 0]
        name.set(long.span, from: 0, count: 255)
        name.set(short.span, from: 0, count: 3)
        #expect(name.byteCount == 3 && bytes(of: name) == [1, 0x61, 0, 0, 0, 0, 0, 0])
    }

    @Test("the hash is SipHash-1-3 of the words and a closing word")
    func knownHash() throws {
        let hash = try hash(of: "www.example.com", .a, seed)
        #expect(hash == 0x79F7_4B14_3A57_1129)
    }

    @Test("the hash depends on name, type and seed, and not on letter case")
    func dependence() throws {
        let hash = try hash(of: "www.example.com", .a, seed)
        #expect(try self.hash(of: "wWW.eXAMPLE.cOM", .a, seed) == hash)
        #expect(try self.hash(of: "www.example.con", .a, seed) != hash)
        #expect(try self.hash(of: "www.example.com", .aaaa, seed) != hash)
        #expect(try self.hash(of: "www.example.com", .a, (seed.0 ^ 1, seed.1)) != hash)
        #expect(try self.hash(of: "www.example.com", .a, (seed.0, seed.1 ^ 1)) != hash)
    }

    @Test("another seed puts the same names in other places")
    func placement() throws {
        let places = try [(1, 1), (2, 2)].map { seed in
            try (0..<200).map { try hash(of: "host\($0).example", .a, seed) & 1023 }
        }
        let unmoved = zip(places[0], places[1]).count { $0 == $1 }
        #expect(unmoved < 10)
    }

    @Test("names in a row are spread over all shards and over the places in a shard")
    func spread() throws {
        var shards = [Int](repeating: 0, count: AnswerCache.shardCount)
        var places = [Int](repeating: 0, count: 64)
        for index in 0..<6_400 {
            let hash = try hash(of: "host\(index).example", .a, seed)
            shards[Int(hash >> 60)] += 1
            places[Int(hash & 63)] += 1
        }
        #expect(shards.allSatisfy { (300...500).contains($0) } && places.allSatisfy { (50...150).contains($0) })
    }

    @Test("the hash of a question finds its entries, of any network and source")
    func entryOfHash() throws {
        let cache = AnswerCache(limitBytes: 1 << 20, seed: seed)
        let question = Question(try #require(Name("www.example.com")), .a)
        let hash = cache.key(for: question, Partition(rawValue: 1), .provider).hash
        #expect(!cache.mayHaveEntry(hash))
        let record = ResourceRecord(owner: question.name, address: .v4(1), ttlSeconds: 60)
        cache.store(
            RenderedAnswer(Answer(records: [record]), to: question), lifetimeSeconds: 60, for: question,
            partition: Partition(rawValue: 2), sourceClass: .system, nowMilliseconds: 0)
        #expect(cache.mayHaveEntry(hash))
    }

    private func hash(of text: String, _ type: RecordType, _ seed: (UInt64, UInt64)) throws -> UInt64 {
        let name = try #require(Name(text))
        let key = TableModel.Key(
            question: Question(name, type), partition: Partition(rawValue: 0), sourceClass: .provider)
        return AnswerKey(of: key, hashing: NameHash(seed: seed)).hash
    }

    private func folded(_ source: [UInt8]) -> [UInt8] {
        var name = FoldedName()
        name.set(source.span, from: 0, count: source.count)
        return bytes(of: name)
    }

    private func bytes(of name: borrowing FoldedName) -> [UInt8] {
        var bytes: [UInt8] = []
        let words = name.span
        for index in words.indices {
            bytes += stride(from: 0, to: 64, by: 8).map { UInt8(truncatingIfNeeded: words[index] >> UInt64($0)) }
        }
        return bytes
    }
}
