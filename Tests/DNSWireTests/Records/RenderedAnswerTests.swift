// Rendered answers read back: all records return, whatever suffixes the names share.

import DNSWire
import TestSupport
import Testing

struct RenderedAnswerTests {
    private let name: Name

    init() throws {
        name = try #require(Name("www.example.com"))
    }

    @Test("an owner that is the question's name is a pointer to it")
    func ownerPointer() throws {
        let rendered = RenderedAnswer(Answer.addresses(of: name, count: 1), to: Question(name, .a))
        #expect(rendered.body == [0xC0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, 0])
        #expect(rendered.ttlOffsets == [6])
    }

    @Test("names that end alike share their ends")
    func sharedSuffixes() throws {
        let edge = try #require(Name("edge.cdn.example.com"))
        let node = try #require(Name("node7.EDGE.cdn.example.com"))
        let zone = try #require(Name("example.com"))
        let answer = Answer(
            negative: .noData,
            chain: [
                ResourceRecord(owner: name, alias: edge, ttlSeconds: 60),
                ResourceRecord(owner: edge, alias: node, ttlSeconds: 60),
            ], authority: ResourceRecord(owner: zone, type: .soa, ttlSeconds: 60, data: []))
        let rendered = RenderedAnswer(answer, to: Question(name, .a))
        let fixed = 10
        #expect(rendered.body.count == (2 + fixed + edge.wire.count) + (2 + fixed + node.wire.count) + (2 + fixed))
        let message = try RenderedReply.message(answer, to: QueryPacket(name, .a))
        #expect(message.answers == answer.records.map { $0.decoded() })
        #expect(message.authorities.map(\.owner) == [zone.wire])
    }

    @Test("an owner takes the letters of the question that it points to")
    func ownerCase() throws {
        let asked = try #require(Name("wWw.exAMPle.COM"))
        let rendered = RenderedAnswer(Answer.addresses(of: name, count: 1), to: Question(name, .a))
        let packet = QueryPacket(asked, .a).bytes
        guard case .query(let query) = Query.receive(packet.span) else {
            Issue.record("not a query")
            return
        }
        let reply = [UInt8](capacity: 512) { output in
            Reply.write(
                Reply.Body(rendered), to: query, in: packet.span, ageSeconds: 0, limit: 512, into: &output)
        }
        #expect(try DecodedMessage(reply).answers.map(\.owner) == [asked.wire])
    }

    @Test("the root as question, as owner and as target")
    func root() throws {
        let records = [
            ResourceRecord(owner: .root, alias: .root, ttlSeconds: 5),
            ResourceRecord(owner: .root, type: .ns, ttlSeconds: 6, data: name.wire),
        ]
        let message = try RenderedReply.message(Answer(records: records), to: QueryPacket(.root, .ns))
        #expect(message.questions.map(\.name) == [[0]])
        #expect(message.answers == records.map { $0.decoded() })
    }

    @Test("100 A records, and 40 AAAA records, whole over a stream", arguments: [RecordType.a, .aaaa])
    func manyRecords(type: RecordType) throws {
        let records = (0..<(type == .a ? 100 : 40)).map { index in
            let address = type == .a ? Address.v4(UInt32(index)) : .v6(high: 0x2001_0DB8 << 32, low: UInt64(index))
            return ResourceRecord(owner: name, address: address, ttlSeconds: 77)
        }
        let message = try RenderedReply.message(Answer(records: records), to: QueryPacket(name, type))
        #expect(message.answers == records.map { $0.decoded() } && !message.isTruncated)
    }

    @Test("an answer beyond the size of any message keeps the records that fit, and says that there are more")
    func oversized() throws {
        let rendered = RenderedAnswer(Answer.addresses(of: name, count: 5000), to: Question(name, .a))
        #expect(rendered.body.count <= 65_535 - 12 - 259 && rendered.body.count > 64_900)
        #expect(Int(rendered.answerCount) * 16 == rendered.body.count)
        let packet = QueryPacket(name, .a, payloadSize: 1232)
        let reply = try RenderedReply.bytes(
            Answer.addresses(of: name, count: 5000), to: packet, extendedError: .prohibited)
        let message = try DecodedMessage(reply)
        #expect(reply.count <= 65_535 && rendered.isCut && message.isTruncated)
    }

    @Test("a record that no message can hold is left out, the next one is kept")
    func recordTooLarge() throws {
        let huge = ResourceRecord(owner: name, type: .txt, ttlSeconds: 5, data: Array(repeating: 0, count: 70_000))
        let small = ResourceRecord(owner: name, type: .txt, ttlSeconds: 5, data: [1, 65])
        let rendered = RenderedAnswer(Answer(records: [huge, small]), to: Question(name, .txt))
        #expect(rendered.answerCount == 1 && rendered.body.count == 14 && rendered.isCut)
    }

    @Test("a name behind the first 16 KiB is not pointed at: pointers have 14 bits")
    func farNames() throws {
        let filler = ResourceRecord(owner: name, type: .txt, ttlSeconds: 5, data: Array(repeating: 1, count: 1000))
        for count in 14...18 {
            let target = try #require(Name("far.away.test"))
            let records =
                Array(repeating: filler, count: count) + [
                    ResourceRecord(owner: name, alias: target, ttlSeconds: 5),
                    ResourceRecord(owner: target, address: .v4(9), ttlSeconds: 5),
                ]
            let message = try RenderedReply.message(Answer(records: records), to: QueryPacket(name, .a))
            #expect(message.answers == records.map { $0.decoded() }, "\(count) records before it")
        }
    }

    @Test("seeded random answers come back as they went in", arguments: 1...40)
    func roundTrip(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<25 {
            let asked = try randomName(&random)
            var owners = [asked]
            var records: [ResourceRecord] = []
            for _ in 0..<Int.random(in: 1...30, using: &random) {
                let record = try randomRecord(from: owners, &random)
                if record.type == .cname { owners.append(try #require(record.aliasTarget)) }
                records.append(record)
            }
            let age = UInt32.random(in: 0...400, using: &random)
            let packet = QueryPacket(asked, .a, payloadSize: Bool.random(using: &random) ? 1232 : nil)
            let limit = Bool.random(using: &random) ? 65_535 : Int.random(in: 512...1232, using: &random)
            let message = try RenderedReply.message(
                Answer(records: records), to: packet, ageSeconds: age, limit: limit)
            let expected = records.map { $0.decoded(ageSeconds: age).folded }
            #expect(message.answers.map(\.folded) == Array(expected[..<message.answers.count]), "seed \(seed)")
            #expect(message.isTruncated == (message.answers.count < records.count), "seed \(seed)")
        }
    }

    @Test("the reader for upstream replies understands what we write", arguments: 1...10)
    func readByUpstreamReply(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let target = try randomName(&random)
        let records =
            (target == name ? [] : [ResourceRecord(owner: name, alias: target, ttlSeconds: 40)])
            + Answer.addresses(of: target, count: 20, ttlSeconds: 50).records
        let answer = Answer(records: records)
        let packet = QueryPacket(name, .a, payloadSize: 1232)
        let reply = try RenderedReply.bytes(answer, to: packet)
        #expect(try UpstreamReply.answer(in: reply, to: packet.question, id: packet.id) == answer)
    }

    // MARK: random parts

    /// A name of few labels, so that names share suffixes; some letters are in upper case.
    private func randomName(_ random: inout SeededRandom) throws -> Name {
        let labels = ["a", "bb", "ccc", "Example", "com", "COM", "x\\.y", String(repeating: "z", count: 40)]
        let count = Int.random(in: 0...5, using: &random)
        guard count > 0 else { return .root }
        let text = (0..<count).map { _ in labels[Int.random(in: 0..<labels.count, using: &random)] }
        return try #require(Name(text.joined(separator: ".")))
    }

    private func randomRecord(from owners: [Name], _ random: inout SeededRandom) throws -> ResourceRecord {
        let owner = try owners.randomElement(using: &random) ?? randomName(&random)
        let ttl = UInt32.random(in: 0...600, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return ResourceRecord(owner: owner, alias: try randomName(&random), ttlSeconds: ttl)
        case 1:
            return ResourceRecord(owner: owner, address: .v4(.random(in: 0 ... .max, using: &random)), ttlSeconds: ttl)
        case 2:
            let data = (0..<Int.random(in: 0...200, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            return ResourceRecord(owner: try randomName(&random), type: .txt, ttlSeconds: ttl, data: data)
        default:
            let address = Address.v6(high: random.next(), low: random.next())
            return ResourceRecord(owner: owner, address: address, ttlSeconds: ttl)
        }
    }
}

extension DecodedMessage.Record {
    /// Owners may come back in the letters of the name they point to.
    fileprivate var folded: DecodedMessage.Record {
        DecodedMessage.Record(
            owner: owner.map { (0x41...0x5A).contains($0) ? $0 + 32 : $0 }, type: type, recordClass: recordClass,
            ttl: ttl, data: data)
    }
}
