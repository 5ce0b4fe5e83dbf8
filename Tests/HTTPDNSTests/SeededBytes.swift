// Random answers and bytes from a seed.

import DNSWire
import HTTPDNS
import TestSupport
import Testing

struct SeededBytes {
    var generator: SeededRandom

    init(seed: UInt64) {
        generator = SeededRandom(seed: seed)
    }

    mutating func bytes(count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    mutating func name() throws -> Name {
        let labels = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
            String(
                (0..<Int.random(in: 1...12, using: &generator)).compactMap { _ in
                    "abcdefghijklmnopqrstuvwxyz0123456789-_".randomElement(using: &generator)
                })
        }
        return try #require(Name(labels.joined(separator: ".")))
    }

    /// RDATA of one of the types that have a text form.
    mutating func data(of type: RecordType) throws -> [UInt8] {
        switch type {
        case .a: return bytes(count: 4)
        case .aaaa: return bytes(count: 16)
        case .mx: return bytes(count: 2) + (try name()).wire
        case .srv: return bytes(count: 6) + (try name()).wire
        case .soa: return (try name()).wire + (try name()).wire + bytes(count: 20)
        case .txt:
            return (0..<Int.random(in: 1...3, using: &generator)).flatMap { _ in
                let string = bytes(count: Int.random(in: 0...255, using: &generator))
                return [UInt8(string.count)] + string
            }
        default: return (try name()).wire
        }
    }

    /// An answer of any kind with a chain in front of it.
    mutating func answer(to question: Question) throws -> Answer {
        var owner = question.name
        var links: [ResourceRecord] = []
        if question.type != .cname {
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                let target = try name()
                guard target != question.name, !links.contains(where: { $0.owner == target }), target != owner else {
                    continue
                }
                links.append(ResourceRecord(owner: owner, alias: target, ttlSeconds: ttlSeconds()))
                owner = target
            }
        }
        switch Int.random(in: 0...3, using: &generator) {
        case 0: return Answer(negative: .noData, chain: links, authority: try authority(above: owner))
        case 1: return Answer(negative: .noSuchName, chain: links, authority: try authority(above: owner))
        default:
            var seen: Set<[UInt8]> = []
            for _ in 0..<Int.random(in: 1...6, using: &generator) { seen.insert(try data(of: question.type)) }
            let lifetime = ttlSeconds()
            let records = seen.sorted { $0.lexicographicallyPrecedes($1) }.map {
                ResourceRecord(owner: owner, type: question.type, ttlSeconds: lifetime, data: $0)
            }
            return Answer(records: links + records)
        }
    }

    private mutating func authority(above name: Name) throws -> ResourceRecord? {
        guard Bool.random(using: &generator), let wire = name.labels.first.map({ name.wire.dropFirst($0.count + 1) })
        else { return nil }
        let zone = try #require(Name(wire: wire))
        return ResourceRecord(owner: zone, type: .soa, ttlSeconds: ttlSeconds(), data: try data(of: .soa))
    }

    private mutating func ttlSeconds() -> UInt32 {
        UInt32.random(in: 0...86_400, using: &generator)
    }
}
