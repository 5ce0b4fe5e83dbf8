// Clients of other machines: their limits, and their cookies in queries and replies.

import TestSupport
import Testing

@testable import Serving
@testable import DNSWire

struct ClientRateLimitTests {
    private let name: Name
    private let lan = Address.v4(0xC0A8_0105)
    /// A client in the same /24.
    private let neighbour = Address.v4(0xC0A8_0106)
    private static let allow = ["127.0.0.0/8", "192.168.0.0/16", "2001:db8::/32"].compactMap { Prefix($0) }

    init() throws {
        name = try #require(Name("www.example.com"))
    }

    private func stand(client: Int? = 10, prefix: Int? = 100) -> ServingStand {
        let gate = ClientRateLimit(
            ClientRateLimit.Rates(client: client, prefix: prefix), seed: (3, 4), cookieSecret: (5, 6),
            secondsAtBoot: 1000)
        let stand = ServingStand(allow: ClientRateLimitTests.allow, gate: gate)
        let answer = Answer(records: [ResourceRecord(owner: name, address: .v4(7), ttlSeconds: 86_400)])
        stand.keep(answer, for: Question(name, .a))
        return stand
    }

    private func packet(cookie: [UInt8]? = nil, payloadSize: UInt16? = 1232) -> [UInt8] {
        var packet = QueryPacket(name, .a, payloadSize: payloadSize)
        if let cookie { packet.options = [0, 10, 0, UInt8(cookie.count)] + cookie }
        return packet.bytes
    }

    private func addresses(of name: Name, count: UInt32) -> Answer {
        Answer(records: (0..<count).map { ResourceRecord(owner: name, address: .v4($0), ttlSeconds: 300) })
    }

    /// The whole cookie in a reply.
    private func cookie(in reply: [UInt8]) throws -> [UInt8]? {
        let data = try #require(try DecodedMessage(reply).optionRecord).data
        guard data.count >= 28, data[..<4] == [0, 10, 0, 24] else { return nil }
        return Array(data[4..<28])
    }

    private static let clientCookie: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

    @Test("over its rate a client gets TC and nothing else, no larger than its query; four times over it gets nothing")
    func softAnswer() throws {
        for payloadSize in [nil, 1232] as [UInt16?] {
            var stand = stand()
            let asked = packet(payloadSize: payloadSize)
            var outcomes: [FastPath.Outcome] = []
            for _ in 0..<1000 {
                let (outcome, reply) = stand.ask(asked, from: lan, atSeconds: 5)
                outcomes.append(outcome)
                guard outcome == .limited(.noError) else { continue }
                let message = try DecodedMessage(reply)
                #expect(message.isTruncated && message.answers.isEmpty && reply.count == asked.count)
                #expect(message.questions.count == 1)
                #expect(ReplyShape.fault(of: reply, outcome, to: asked, isStream: false) == nil)
            }
            let expected: [FastPath.Outcome] = [.answered(.noError), .limited(.noError), .dropped(.rateLimited)]
            #expect(expected.map { each in outcomes.count { $0 == each } } == [10, 30, 960])
        }
    }

    @Test("a flood takes nothing from a neighbour, nor from this machine, nor from TCP")
    func others() {
        var stand = stand()
        for turn in 0..<1000 {
            let seconds = 5 + Double(turn) / 1000
            for _ in 0..<10 { _ = stand.ask(packet(), from: lan, atSeconds: seconds) }
            #expect(stand.ask(packet(), atSeconds: seconds).outcome == .answered(.noError))
            #expect(
                stand.ask(packet(), from: lan, atSeconds: seconds, over: .tcp).outcome
                    == .answered(.noError))
            guard turn % 200 == 0 else { continue }
            #expect(stand.ask(packet(), from: neighbour, atSeconds: seconds).outcome == .answered(.noError))
        }
    }

    @Test("many clients of one prefix share a rate, those of another one have their own, and families are kept apart")
    func prefixes() throws {
        var stand = stand(client: 10, prefix: 100)
        func answered(_ clients: [Address]) -> Int {
            clients.count { stand.ask(packet(), from: $0, atSeconds: 9).outcome == .answered(.noError) }
        }
        #expect(answered((0..<256).map { .v4(0xC0A8_0100 + $0) }) == 100)
        #expect(answered((0..<256).map { .v4(0xC0A8_0200 + $0) }) == 100)
        // All clients are in one /56; the next one is in another.
        #expect(answered((0..<256).map { .v6(high: 0x2001_0DB8_0000_0000 + $0, low: 1) }) == 100)
        #expect(answered([.v6(high: 0x2001_0DB8_0000_0100, low: 1)]) == 1)
        // The client uses a socket of both families.
        #expect(answered([.v6(high: 0, low: 0xFFFF_C0A8_0101)]) == 0)
    }

    @Test("without rates no client is limited")
    func off() {
        var stand = stand(client: nil, prefix: nil)
        for _ in 0..<5000 {
            #expect(stand.ask(packet(), from: lan, atSeconds: 1).outcome == .answered(.noError))
        }
    }

    @Test("any number of clients without access does not keep others from their answers")
    func crowd() {
        var stand = stand(client: 1, prefix: 1)
        // The clients are enough to fill every cell of both meters.
        for number in 0..<20_000 as Range<UInt32> {
            _ = stand.ask(packet(), from: .v4(0x0800_0000 + number << 8), atSeconds: 5)
        }
        #expect(stand.ask(packet(), from: .v4(0x0900_0000), atSeconds: 5).outcome == .dropped(.rateLimited))
        #expect(stand.ask(packet(), from: lan, atSeconds: 5).outcome == .answered(.noError))
    }

    @Test("a client without access is refused within the rate, gets no cookie, and nothing over the rate")
    func strangers() throws {
        var stand = stand()
        let stranger = Address.v4(0x0808_0808)
        let (outcome, reply) = stand.ask(
            packet(cookie: ClientRateLimitTests.clientCookie), from: stranger, atSeconds: 1)
        #expect(outcome == .refused(.refused))
        #expect(try cookie(in: reply) == nil)
        for _ in 0..<9 { _ = stand.ask(packet(), from: stranger, atSeconds: 1) }
        #expect(stand.ask(packet(), from: stranger, atSeconds: 1).outcome == .dropped(.rateLimited))
        // Malformed queries count as well.
        #expect(stand.ask(Array(packet().dropLast()), from: stranger, atSeconds: 1).outcome == .dropped(.rateLimited))
    }

    @Test("a client cookie is answered with a whole one, over TCP too; this machine's own are ignored")
    func learning() throws {
        var stand = stand()
        for transport in Transport.allCases {
            let (outcome, reply) = stand.ask(
                packet(cookie: ClientRateLimitTests.clientCookie), from: lan, atSeconds: 1, over: transport)
            #expect(outcome == .answered(.noError))
            let given = try #require(try cookie(in: reply))
            #expect(given.starts(with: ClientRateLimitTests.clientCookie + [1, 0, 0, 0]))
            // A valid cookie is returned unchanged.
            let again = stand.ask(packet(cookie: given), from: lan, atSeconds: 2, over: transport)
            #expect(again.outcome == .answered(.noError))
            #expect(try cookie(in: again.reply) == given)
        }
        let own = stand.ask(packet(cookie: ClientRateLimitTests.clientCookie), atSeconds: 1)
        #expect(own.outcome == .answered(.noError))
        #expect(try cookie(in: own.reply) == nil)
    }

    @Test("a wrong server cookie is answered, with a right one; a length that no cookie has is FORMERR")
    func wrong() throws {
        var stand = stand(client: nil, prefix: nil)
        for count in 0...60 {
            let sent = [UInt8](repeating: 9, count: count)
            let (outcome, reply) = stand.ask(packet(cookie: sent), from: lan, atSeconds: 1)
            let isWhole = count == 8 || (16...40).contains(count)
            #expect(outcome == (isWhole ? .answered(.noError) : .refused(.formatError)), "\(count) bytes")
            #expect(try cookie(in: reply).map { Array($0.prefix(8)) } == (isWhole ? Array(sent.prefix(8)) : nil))
            // The daemon does not check the cookies of loopback clients.
            #expect(stand.ask(packet(cookie: sent), atSeconds: 1).outcome == .answered(.noError))
        }
    }

    @Test("over the rate a client that knows cookies gets BADCOOKIE, and with its cookie a higher limit of its own")
    func proven() throws {
        var stand = stand(client: 10, prefix: 100)
        for _ in 0..<10 { _ = stand.ask(packet(), from: lan, atSeconds: 5) }
        let (outcome, reply) = stand.ask(packet(cookie: ClientRateLimitTests.clientCookie), from: lan, atSeconds: 5)
        #expect(outcome == .limited(.badCookie))
        #expect(try DecodedMessage(reply).responseCode == 23)
        let given = try #require(try cookie(in: reply))
        // Forgers of the client's address continue meanwhile.
        for _ in 0..<1000 { _ = stand.ask(packet(), from: lan, atSeconds: 5) }
        let outcomes = (0..<1000).map { _ in stand.ask(packet(cookie: given), from: lan, atSeconds: 5).outcome }
        #expect(outcomes.count { $0 == .answered(.noError) } == 40)
        #expect(outcomes.count { $0 == .limited(.noError) } == 120)
        #expect(outcomes.count { $0 == .dropped(.rateLimited) } == 840)
    }

    @Test("a query without a question asks for a cookie, or whether the one it has is good (RFC 7873 section 5.4)")
    func cookieAlone() throws {
        var stand = stand()
        func ask(_ cookie: [UInt8], from client: Address? = nil) -> (outcome: FastPath.Outcome, reply: [UInt8]) {
            let option = [0, 10, 0, UInt8(cookie.count)] + cookie
            let packet: [UInt8] =
                [7, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, UInt8(option.count)] + option
            return stand.ask(packet, from: client ?? lan, atSeconds: 1)
        }
        let first = ask(ClientRateLimitTests.clientCookie)
        #expect(first.outcome == .local)
        #expect(try DecodedMessage(first.reply).responseCode == 0)
        let given = try #require(try cookie(in: first.reply))
        #expect(ask(given).outcome == .local)
        let bad = ask(given.dropLast() + [given[23] ^ 1])
        #expect(bad.outcome == .refused(.badCookie))
        #expect(try DecodedMessage(bad.reply).responseCode == 23)
        #expect(try cookie(in: bad.reply) == given)
        #expect(ask(ClientRateLimitTests.clientCookie, from: ServingStand.loopback).outcome == .refused(.formatError))
    }

    @Test("of two COOKIE options the first one counts (RFC 7873 section 5.2)")
    func twoCookies() throws {
        var stand = stand()
        var packet = QueryPacket(name, .a, payloadSize: 1232)
        packet.options = [0, 10, 0, 8] + ClientRateLimitTests.clientCookie + [0, 10, 0, 3, 1, 2, 3]
        let (outcome, reply) = stand.ask(packet.bytes, from: lan, atSeconds: 1)
        #expect(outcome == .answered(.noError))
        #expect(try cookie(in: reply)?.prefix(8) == ClientRateLimitTests.clientCookie[...])
    }

    @Test("a reply that is cut to its limit has room for the cookie")
    func truncation() throws {
        var stand = stand()
        let many = try #require(Name("many.example.com"))
        stand.keep(addresses(of: many, count: 100), for: Question(many, .a))
        var asked = QueryPacket(many, .a, payloadSize: 1232)
        asked.options = [0, 10, 0, 8] + ClientRateLimitTests.clientCookie
        let (outcome, reply) = stand.ask(asked.bytes, from: lan, atSeconds: 1)
        #expect(outcome == .answered(.noError) && reply.count <= 1232 && reply.count > 1232 - 16)
        #expect(try DecodedMessage(reply).isTruncated)
        #expect(try cookie(in: reply) != nil)
    }

    @Test("the second look into the cache keeps the cookie and counts nothing")
    func secondLook() throws {
        var stand = stand(client: 1)
        let other = try #require(Name("late.example.com"))
        var asked = QueryPacket(other, .a, payloadSize: 1232)
        asked.options = [0, 10, 0, 8] + ClientRateLimitTests.clientCookie
        guard case .miss(let query) = stand.ask(asked.bytes, from: lan, atSeconds: 1).outcome else {
            Issue.record("it was not in the cache")
            return
        }
        #expect(query.replyCookie != nil)
        stand.keep(addresses(of: other, count: 1), for: Question(other, .a), atSeconds: 1)
        let (outcome, reply) = stand.askAgain(query, asked.bytes, from: lan, atSeconds: 1)
        #expect(outcome == .answered(.noError))
        #expect(try cookie(in: reply)?.prefix(8) == ClientRateLimitTests.clientCookie[...])
    }
}
