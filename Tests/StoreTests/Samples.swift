// Entries of every kind from a seed, and a store in a folder of its own.

import DNSWire
import Store
import TestSupport

/// Entries whose names are `PREFIX0.example`, `PREFIX1.example` and so on.
struct Samples {
    static let storedAt: Int64 = 1_700_000_000_000

    static func entries(_ count: Int, prefix: String = "name", seed: UInt64 = 1) -> [StoredEntry] {
        var random = SeededRandom(seed: seed)
        return (0..<count).map { entry("\(prefix)\($0).example", $0, using: &random) }
    }

    /// An entry whose kind depends on `number`: one address, several, an alias before them, no data, no such name,
    /// another type.
    static func entry(_ text: String, _ number: Int, using random: inout SeededRandom) -> StoredEntry {
        guard let name = Name(text), let target = Name("edge.cdn.example"), let zone = Name("example") else {
            preconditionFailure("\(text) is no name")
        }
        let address = Address.v4(UInt32.random(in: 0x0100_0000...0xDFFF_FFFF, using: &random))
        let other = Address.v6(high: random.next(), low: random.next())
        let ttl = UInt32.random(in: 0...3_600, using: &random)
        let authority = ResourceRecord(
            owner: zone, type: .soa, ttlSeconds: ttl, data: target.wire + zone.wire + [UInt8](repeating: 0, count: 20))
        let alias = ResourceRecord(owner: name, alias: target, ttlSeconds: ttl)
        let (type, answer): (RecordType, Answer) =
            switch number % 6 {
            case 0: (.a, Answer(records: [ResourceRecord(owner: name, address: address, ttlSeconds: ttl)]))
            case 1:
                (
                    .aaaa,
                    Answer(
                        records: [other, .v6(high: 1, low: 2)].map {
                            ResourceRecord(owner: name, address: $0, ttlSeconds: ttl)
                        })
                )
            case 2: (.a, Answer(records: [alias, ResourceRecord(owner: target, address: address, ttlSeconds: ttl)]))
            case 3: (.aaaa, Answer(negative: .noData, chain: [alias], ttlSeconds: ttl))
            case 4: (.a, Answer(negative: .noSuchName, authority: authority, ttlSeconds: ttl))
            default:
                (
                    .mx,
                    Answer(records: [
                        ResourceRecord(owner: name, type: .mx, ttlSeconds: ttl, data: [0, 5] + target.wire)
                    ])
                )
            }
        let question = Question(name, type)
        let errors = [
            ExtendedError(upstream: 15, text: "blocked: malware ü".utf8), ExtendedError(upstream: 3, text: []),
        ]
        let remark = number % 7 == 3 ? errors[number % 2] : nil
        return StoredEntry(
            question: question, partition: UInt32(number % 3), sourceClass: number % 5 == 0 ? .system : .provider,
            answer: RenderedAnswer(answer.remarked(remark), to: question),
            storedAtMilliseconds: storedAt + Int64.random(in: 0...1_000_000, using: &random),
            lifetimeSeconds: ttl, demand: Double.random(in: 0...9, using: &random))
    }
}

extension StoredEntry {
    /// The same key with another answer.
    func replaced(address: UInt32, storedAt: Int64) -> StoredEntry {
        let record = ResourceRecord(owner: question.name, address: .v4(address), ttlSeconds: 60)
        return StoredEntry(
            question: question, partition: partition, sourceClass: sourceClass,
            answer: RenderedAnswer(Answer(records: [record]), to: question), storedAtMilliseconds: storedAt,
            lifetimeSeconds: 60, demand: 1)
    }

    func stored(at milliseconds: Int64, lifetimeSeconds: UInt32) -> StoredEntry {
        StoredEntry(
            question: question, partition: partition, sourceClass: sourceClass, answer: answer,
            storedAtMilliseconds: milliseconds, lifetimeSeconds: lifetimeSeconds, demand: demand)
    }
}

/// The key by which entries are compared, because the file keeps no order.
struct EntryKey: Hashable {
    let question: Question
    let partition: UInt32
    let sourceClass: StoredEntry.SourceClass

    init(_ entry: StoredEntry) {
        question = entry.question
        partition = entry.partition
        sourceClass = entry.sourceClass
    }
}

extension TemporaryFolder {
    var file: String { self("cache.db") }

    /// The entries and events of a store that opens this folder's file.
    func load(atMost rows: Int = 1_000_000) throws -> Loaded {
        var store = EntryStore(path: file)
        return try Loaded(&store, atMost: rows)
    }
}

struct Loaded {
    private(set) var entries: [EntryKey: StoredEntry] = [:]
    private(set) var lastWritten: Int64?
    let counts: LoadCounts
    let setAside: [SetAside]

    init(_ store: inout EntryStore, atMost rows: Int = 1_000_000) throws {
        var entries: [EntryKey: StoredEntry] = [:]
        var lastWritten: Int64?
        counts = try store.load(atMost: rows) { entry, written in
            entries[EntryKey(entry)] = entry
            lastWritten = written
        }
        self.entries = entries
        self.lastWritten = lastWritten
        setAside = store.takeSetAside()
    }
}
