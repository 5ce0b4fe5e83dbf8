// Client packets from files, through the fast path: with an empty cache, with a filled one, truncated, and damaged.

import DNSWire
import Serving
import TestSupport
import Testing

struct QueryVectorTests {
    private let vectors: [HexVector]

    init() throws {
        vectors = try HexVector.all(in: TestFile.folder(of: #filePath) + "/Vectors/queries")
    }

    @Test("every vector has the outcome that its head says, on an empty cache")
    func outcomes() throws {
        #expect(vectors.count > 100)
        var stand = ServingStand()
        for vector in vectors {
            let expected = try QueryExpectation(vector)
            let (outcome, reply) = stand.ask(vector.bytes, from: expected.client)
            #expect(QueryExpectation.text(outcome) == expected.outcome, "\(vector)")
            switch outcome {
            case .dropped, .miss: #expect(reply.isEmpty, "\(vector)")
            default: try check(reply, to: vector, expected)
            }
            if case .miss(let query) = outcome {
                #expect(query.replyLimitBytes == expected.limitBytes, "\(vector)")
            }
        }
    }

    @Test("the bounds of a question, read before its validation, are those of the query")
    func bounds() {
        var stand = ServingStand()
        var compared = 0
        for vector in vectors {
            guard case .miss(let query) = stand.ask(vector.bytes).outcome else { continue }
            let bounds = QuestionBounds(in: vector.bytes.span)
            #expect(bounds?.nameBytes == query.nameBytes && bounds?.type == query.type, "\(vector)")
            compared += 1
        }
        #expect(compared > 30)
    }

    @Test("a filled cache changes nothing but the misses, which get as many whole records as fit")
    func filled() throws {
        for vector in vectors {
            let expected = try QueryExpectation(vector)
            var stand = ServingStand()
            guard case .miss(let query) = stand.ask(vector.bytes, from: expected.client).outcome else {
                let (outcome, reply) = stand.ask(vector.bytes, from: expected.client)
                #expect(QueryExpectation.text(outcome) == expected.outcome, "\(vector)")
                if !reply.isEmpty { try check(reply, to: vector, expected) }
                continue
            }
            let question = query.question(in: vector.bytes.span, from: .all)
            stand.keep(largeAnswer(to: question), for: question)
            let (outcome, reply) = stand.ask(vector.bytes, from: expected.client)
            #expect(outcome == .answered(.noError), "\(vector)")
            try check(reply, to: vector, expected)
            let limit = try #require(expected.limitBytes, "\(vector)")
            let message = try DecodedMessage(reply)
            #expect(message.isTruncated, "\(vector)")
            #expect(reply.count <= limit && reply.count + 28 > limit, "\(vector): \(reply.count) of \(limit)")
        }
    }

    @Test("a version of EDNS other than 0 is refused although the answer is in the cache")
    func versionBeforeCache() {
        var stand = ServingStand()
        var packet = QueryPacket(Name.root, .a, payloadSize: 1232)
        stand.keep(largeAnswer(to: packet.question), for: packet.question)
        #expect(stand.ask(packet.bytes).outcome == .answered(.noError))
        packet.version = 1
        #expect(stand.ask(packet.bytes).outcome == .refused(.badVersion))
    }

    @Test("no truncation of a vector stops the process or breaks a reply")
    func truncations() throws {
        var stand = try filledStand()
        for vector in vectors {
            for count in 0..<vector.bytes.count {
                let packet = Array(vector.bytes[..<count])
                if let bounds = QuestionBounds(in: packet.span) {
                    #expect(Header.byteCount + bounds.nameBytes + 4 <= count, "\(vector)")
                }
                let (outcome, reply) = stand.ask(packet)
                checkShape(outcome, reply, to: packet, "\(vector) cut to \(count)")
                if count < Header.byteCount { #expect(outcome == .dropped(.short)) }
            }
        }
    }

    @Test("no damaged byte in a vector stops the process or breaks a reply", arguments: [11, 12, 13] as [UInt64])
    func mutations(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var stand = try filledStand()
        for vector in vectors where !vector.bytes.isEmpty {
            for _ in 0..<200 {
                var packet = vector.bytes
                let at = Int.random(in: 0..<packet.count, using: &random)
                packet[at] = UInt8.random(in: 0...255, using: &random)
                let isStream = Bool.random(using: &random)
                let (outcome, reply) = stand.ask(packet, over: isStream ? .tcp : .udp)
                checkShape(outcome, reply, to: packet, isStream: isStream, "\(vector), seed \(seed), byte \(at)")
            }
        }
    }

    @Test("random bytes behind a header that looks right break nothing")
    func randomBytes() throws {
        var random = SeededRandom(seed: 21)
        var stand = try filledStand()
        for round in 0..<20_000 {
            let counts = (0..<4).map { _ in UInt8.random(in: 0...2, using: &random) }
            var packet: [UInt8] = [0, 7, 1, 0] + counts.flatMap { [0, $0] }
            for _ in 0..<Int.random(in: 0...60, using: &random) {
                packet.append(UInt8.random(in: 0...(Bool.random(using: &random) ? 4 : 255), using: &random))
            }
            let (outcome, reply) = stand.ask(packet)
            checkShape(outcome, reply, to: packet, "round \(round)")
        }
    }

    // MARK: checks

    private func check(_ reply: [UInt8], to vector: HexVector, _ expected: QueryExpectation) throws {
        let message = try DecodedMessage(reply)
        let query = vector.bytes
        let queryFlags = UInt16(query[2]) << 8 | UInt16(query[3])
        #expect(message.id == UInt16(query[0]) << 8 | UInt16(query[1]), "\(vector)")
        // The three flags are defined for opcode QUERY alone, and BIND sets none of them in a NOTIMP.
        let isPlain = queryFlags & 0x7800 == 0 && message.responseCode != ResponseCode.notImplemented.rawValue
        #expect(message.isReply && message.recursionAvailable == isPlain, "\(vector)")
        #expect(!message.isAuthoritative && !message.authenticData && !message.reservedBit, "\(vector)")
        #expect(message.opcode == queryFlags >> 11 & 15, "\(vector)")
        #expect(message.recursionDesired == (isPlain && queryFlags & 0x0100 != 0), "\(vector)")
        #expect(message.checkingDisabled == (isPlain && queryFlags & 0x0010 != 0), "\(vector)")
        #expect(message.questions.count == (expected.hasQuestion ? 1 : 0), "\(vector)")
        #expect(message.additionals.count == (expected.hasOption ? 1 : 0), "\(vector)")
        if let name = message.questions.first?.name {
            #expect(Array(reply[12..<(16 + name.count)]) == Array(query[12..<(16 + name.count)]), "\(vector)")
        }
        if let option = message.optionRecord {
            #expect(option.owner == [0] && option.recordClass == 1232, "\(vector)")
            // Only DO, which is copied from valid queries, may be set.
            #expect(option.ttl & 0x00FF_7FFF == 0, "\(vector)")
            #expect(option.data.isEmpty || expected.replyText != nil, "\(vector)")
        }
        let codes: [String: ResponseCode] = [
            "FORMERR": .formatError, "NOTIMP": .notImplemented, "REFUSED": .refused, "BADVERS": .badVersion,
        ]
        #expect(message.responseCode == (codes[expected.outcome] ?? .noError).rawValue, "\(vector)")
        if let replyText = expected.replyText { #expect(reply.hexText == replyText, "\(vector)") }
    }

    private func checkShape(
        _ outcome: FastPath.Outcome, _ reply: [UInt8], to packet: [UInt8], isStream: Bool = false, _ context: Comment
    ) {
        #expect(ReplyShape.fault(of: reply, outcome, to: packet, isStream: isStream) == nil, context)
    }

    // MARK: answers

    /// An answer that is too large for any datagram: 100 records of at most 28 bytes.
    private func largeAnswer(to question: Question) -> Answer {
        let data: [UInt8] = question.type == .aaaa ? Array(repeating: 0x20, count: 16) : [192, 0, 2, 1]
        let record = ResourceRecord(owner: question.name, type: question.type, ttlSeconds: 300, data: data)
        return Answer(records: Array(repeating: record, count: 100))
    }

    private func filledStand() throws -> ServingStand {
        var stand = ServingStand(limitBytes: 8 << 20)
        for vector in vectors {
            guard case .miss(let query) = stand.ask(vector.bytes).outcome else { continue }
            let question = Question(query.name(in: vector.bytes.span), query.type)
            stand.keep(largeAnswer(to: question), for: question)
        }
        return stand
    }
}
