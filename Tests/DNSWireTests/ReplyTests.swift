// The exact bytes of replies: TTLs that count down, the client's limit, OPT and extended errors.

import DNSWire
import TestSupport
import Testing

struct ReplyTests {
    private let name: Name

    init() throws {
        name = try #require(Name("www.example.com"))
    }

    @Test(
        "a TTL counts down with the age of the answer and stops at 0",
        arguments: [
            (0, [10, 300, 86_400]), (1, [9, 299, 86_399]), (10, [0, 290, 86_390]), (11, [0, 289, 86_389]),
            (86_400, [0, 0, 0]), (UInt32.max, [0, 0, 0]),
        ] as [(UInt32, [UInt32])])
    func countDown(age: UInt32, expected: [UInt32]) throws {
        let records = [10, 300, 86_400].map {
            ResourceRecord(owner: name, address: .v4(1), ttlSeconds: $0)
        }
        let message = try RenderedReply.message(
            Answer(records: records), to: QueryPacket(name, .a), ageSeconds: age)
        #expect(message.answers.map(\.ttl) == expected)
    }

    @Test("the TTL of a SOA record in a negative reply counts down as well")
    func negativeCountDown() throws {
        let answer = Answer(negative: .noSuchName, authority: try startOfAuthority(ttl: 900, minimum: 900))
        let message = try RenderedReply.message(answer, to: QueryPacket(name, .a), ageSeconds: 100)
        #expect(message.responseCode == 3 && message.answers.isEmpty)
        #expect(message.authorities.map(\.ttl) == [800])
    }

    @Test("a negative reply's SOA record says no longer than the answer lives (RFC 2308 section 3)")
    func negativeTTL() throws {
        let answer = Answer(negative: .noData, authority: try startOfAuthority(ttl: 3600, minimum: 60))
        #expect(answer.ttlSeconds == 60)
        let message = try RenderedReply.message(answer, to: QueryPacket(name, .a), ageSeconds: 50)
        #expect(message.authorities.map(\.ttl) == [10])
    }

    @Test("any limit is filled with as many whole records as fit, and TC says that some are missing")
    func truncation() throws {
        let answer = Answer.addresses(of: name, count: 100)
        let expected = answer.records.map { $0.decoded() }
        let overhead = Header.byteCount + name.wire.count + 4
        for payloadSize in [nil, 4096] as [UInt16?] {
            let packet = QueryPacket(name, .a, payloadSize: payloadSize)
            let fixed = overhead + (payloadSize == nil ? 0 : EDNS.emptyRecordBytes)
            for limit in 512...1700 {
                let reply = try RenderedReply.bytes(answer, to: packet, limit: limit)
                let message = try DecodedMessage(reply)
                let fitting = min(100, (limit - fixed) / 16)
                #expect(reply.count == fixed + fitting * 16, "limit \(limit)")
                #expect(message.answers == Array(expected[..<fitting]), "limit \(limit)")
                #expect(message.isTruncated == (fitting < 100), "limit \(limit)")
                #expect(message.additionals.count == (payloadSize == nil ? 0 : 1), "limit \(limit)")
            }
        }
    }

    @Test("where the answers just fit and the SOA record does not, the reply is truncated")
    func truncatedAuthority() throws {
        let long = try #require(Name(String(repeating: "x", count: 60) + ".example.com"))
        var chain: [ResourceRecord] = []
        var owner = name
        for index in 0..<5 {
            let target = try #require(Name("n\(index)." + long.description))
            chain.append(ResourceRecord(owner: owner, alias: target, ttlSeconds: 60))
            owner = target
        }
        let answer = Answer(negative: .noData, chain: chain, authority: try startOfAuthority(ttl: 60, minimum: 60))
        let whole = try RenderedReply.bytes(answer, to: QueryPacket(name, .a))
        let cut = try RenderedReply.message(answer, to: QueryPacket(name, .a), limit: whole.count - 1)
        #expect(cut.isTruncated && cut.answers == chain.map { $0.decoded() } && cut.authorities.isEmpty)
        let exact = try RenderedReply.message(answer, to: QueryPacket(name, .a), limit: whole.count)
        #expect(!exact.isTruncated && exact.authorities.count == 1)
    }

    @Test("a first record that does not fit leaves an empty, truncated reply")
    func nothingFits() throws {
        let text = ResourceRecord(owner: name, type: .txt, ttlSeconds: 60, data: Array(repeating: 7, count: 2000))
        let message = try RenderedReply.message(
            Answer(records: [text]), to: QueryPacket(name, .txt, payloadSize: 1232), limit: 1232)
        #expect(message.isTruncated && message.answers.isEmpty && message.optionRecord != nil)
    }

    @Test(
        "an extended error stands in the OPT record, with its text, unless records need the room",
        arguments: [.prohibited, .noReachableAuthority, .networkError, .noRoute, .portalSuspected, .notReady]
            as [ExtendedError])
    func extendedErrors(error: ExtendedError) throws {
        let packet = QueryPacket(name, .a, payloadSize: 512)
        let text = Array("\(error.text)".utf8)
        let option = [0, 15, 0, UInt8(2 + text.count), UInt8(error.code >> 8), UInt8(error.code & 0xFF)] + text
        for limit in [512, 600, 65_535] {
            for count in [20, 100] {
                let answer = Answer.addresses(of: name, count: count)
                let reply = try RenderedReply.bytes(answer, to: packet, limit: limit, extendedError: error)
                #expect(reply.count <= limit)
                let hasRoom = count == 20 || limit == 65_535
                #expect(try DecodedMessage(reply).optionRecord?.data == (hasRoom ? option : []), "limit \(limit)")
            }
        }
    }

    @Test("a client without EDNS gets no extended error")
    func extendedErrorWithoutOption() throws {
        let message = try RenderedReply.message(
            Answer.addresses(of: name, count: 1), to: QueryPacket(name, .a), extendedError: .networkError)
        #expect(message.additionals.isEmpty && message.answers.count == 1)
    }

    @Test(
        "edns-tcp-keepalive is answered with the idle time over TCP alone, and only if the client sent it without data",
        arguments: [
            (.tcp, [0, 11, 0, 0], true), (.udp, [0, 11, 0, 0], false), (.tcp, [], false),
            (.tcp, [0, 11, 0, 2, 0, 9], false), (.tcp, [0, 12, 0, 1, 0, 0, 11, 0, 0], true),
        ] as [(Transport, [UInt8], Bool)])
    func keepalive(transport: Transport, options: [UInt8], isAnswered: Bool) throws {
        var packet = QueryPacket(name, .a, payloadSize: 1232)
        packet.options = options
        let asked = packet.bytes
        guard case .query(let query) = Query.receive(asked.span, over: transport) else {
            Issue.record("not a query")
            return
        }
        let reply = [UInt8](capacity: 512) { output in
            Reply.write(code: .noError, to: query, in: asked.span, into: &output)
        }
        // The unit is 100 ms (RFC 7828 section 3.1).
        #expect(try DecodedMessage(reply).optionRecord?.data == (isAnswered ? [0, 11, 0, 2, 0, 100] : []))
    }

    @Test(
        "a client subnet of length 0 is noticed, whatever its family, and comes back with scope 0; no other comes back",
        arguments: [
            ([0, 8, 0, 4, 0, 1, 0, 0], true), ([0, 8, 0, 4, 0, 0, 0, 0], true), ([0, 8, 0, 4, 0, 2, 0, 0], true),
            ([0, 8, 0, 7, 0, 1, 24, 0, 192, 0, 2], false), ([0, 12, 0, 1, 0, 0, 8, 0, 4, 0, 1, 0, 0], true),
            ([0, 8, 0, 0], false), ([0, 12, 0, 4, 0, 1, 0, 0], false), ([], false),
        ] as [([UInt8], Bool)])
    func hiddenSubnet(options: [UInt8], isHidden: Bool) throws {
        var packet = QueryPacket(name, .a, payloadSize: 1232)
        packet.options = options
        let asked = packet.bytes
        guard case .query(let query) = Query.receive(asked.span) else {
            Issue.record("not a query")
            return
        }
        #expect(query.hidesSubnet == isHidden)
        let family = options.firstRange(of: [0, 8, 0, 4, 0]).map { options[$0.upperBound] } ?? 0
        let reply = try RenderedReply.message(Answer.addresses(of: name, count: 1), to: packet, extendedError: .noRoute)
        let error = [0, 15, 0, 26, 0, 23] + Array("no route to any provider".utf8)
        #expect(reply.optionRecord?.data == (isHidden ? [0, 8, 0, 4, 0, family, 0, 0] : []) + error)
    }

    @Test("DO comes back, unless no upstream of the name can carry it (RFC 3225 section 3)", arguments: [true, false])
    func dnssecOK(isCarried: Bool) throws {
        let asked = QueryPacket(name, .a, payloadSize: 1232, optionFlags: 0x8000).bytes
        guard case .query(var query) = Query.receive(asked.span) else {
            Issue.record("not a query")
            return
        }
        #expect(query.dnssec == .dnssecOK)
        if !isCarried { query.dropDNSSEC() }
        let reply = [UInt8](capacity: 512) { output in
            Reply.write(code: .noError, to: query, in: asked.span, into: &output)
        }
        #expect(try DecodedMessage(reply).optionRecord?.ttl == (isCarried ? 0x8000 : 0))
    }

    @Test("a packet whose end is missing is malformed, whatever is left of it")
    func cutPacket() {
        let asked = QueryPacket(name, .a, payloadSize: 1232).bytes
        guard case .rejection(let query, .formatError) = Query.receive(asked.span, isCut: true) else {
            Issue.record("taken as whole")
            return
        }
        #expect(query.edns != nil && query.questionBytes > 0)
    }

    @Test("a failure has the code, the question and OPT, and no records")
    func failure() throws {
        let packet = QueryPacket(name, .a, payloadSize: 1232)
        let asked = packet.bytes
        guard case .query(let query) = Query.receive(asked.span) else {
            Issue.record("not a query")
            return
        }
        let reply = [UInt8](capacity: 512) { output in
            Reply.write(
                code: .serverFailure, to: query, in: asked.span, extendedError: .noReachableAuthority, into: &output)
        }
        let message = try DecodedMessage(reply)
        #expect(message.responseCode == 2 && message.questions.map(\.name) == [name.wire])
        #expect(message.answers.isEmpty && message.authorities.isEmpty && message.optionRecord?.data.count ?? 0 > 6)
    }

    private func startOfAuthority(ttl: UInt32, minimum: UInt32) throws -> ResourceRecord {
        let zone = try #require(Name("example.com"))
        let numbers: [UInt32] = [2026, 7200, 3600, 1_209_600, minimum]
        let data = Name.root.wire + Name.root.wire + numbers.flatMap { Address.v4($0).bytes }
        return ResourceRecord(owner: zone, type: .soa, ttlSeconds: ttl, data: data)
    }
}
