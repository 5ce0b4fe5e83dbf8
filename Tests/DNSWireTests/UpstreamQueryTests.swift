// The daemon's queries to upstreams, compared with bytes written by hand.

import DNSWire
import TestSupport
import Testing

struct UpstreamQueryTests {
    @Test("a query asks for recursion, has one question, and offers 1,232 bytes by EDNS")
    func bytes() throws {
        let question = Question(try #require(Name("ab.c")), .aaaa)
        let expected: [UInt8] = [
            0xBE, 0xEF, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 1,
            2, 0x61, 0x62, 1, 0x63, 0, 0, 28, 0, 1,
            0, 0, 41, 0x04, 0xD0, 0, 0, 0, 0, 0, 0,
        ]
        #expect(UpstreamQuery.message(for: question, id: 0xBEEF) == expected)
    }

    @Test("padding fills whole blocks, whatever the name's length", arguments: 1...63)
    func padding(labelBytes: Int) throws {
        let name = try #require(Name(String(repeating: "a", count: labelBytes)))
        let plain = UpstreamQuery.message(for: Question(name, .a), id: 0)
        let padded = UpstreamQuery.message(for: Question(name, .a), id: 0, paddedTo: UpstreamQuery.paddingBlockBytes)
        #expect(padded.count == 128)
        #expect(padded.prefix(plain.count - 2) == plain.dropLast(2))
        let option = padded.dropFirst(plain.count)
        #expect(Array(option.prefix(4)) == [0, 12, 0, UInt8(128 - plain.count - 4)])
        #expect(option.dropFirst(4).allSatisfy { $0 == 0 })
    }

    @Test(
        "a client subnet is said in as many bytes as its prefix touches, with scope 0 (RFC 7871 section 6)",
        arguments: [
            ("1.2.3.0/24", [0, 8, 0, 7, 0, 1, 24, 0, 1, 2, 3]),
            ("1.2.3.128/25", [0, 8, 0, 8, 0, 1, 25, 0, 1, 2, 3, 128]),
            ("10.0.0.0/8", [0, 8, 0, 5, 0, 1, 8, 0, 10]), ("1.2.3.4/32", [0, 8, 0, 8, 0, 1, 32, 0, 1, 2, 3, 4]),
            ("0.0.0.0/0", [0, 8, 0, 4, 0, 1, 0, 0]), ("::/0", [0, 8, 0, 4, 0, 2, 0, 0]),
            ("2001:db8:aa00::/40", [0, 8, 0, 9, 0, 2, 40, 0, 0x20, 0x01, 0x0D, 0xB8, 0xAA]),
        ])
    func clientSubnet(text: String, option: [UInt8]) throws {
        let question = Question(try #require(Name("ab.c")), .a)
        let subnet = try #require(Prefix(text))
        let plain = UpstreamQuery.message(for: question, id: 1)
        let message = UpstreamQuery.message(for: question, id: 1, clientSubnet: subnet)
        #expect(message == plain.dropLast(2) + [0, UInt8(option.count)] + option)
        let padded = UpstreamQuery.message(for: question, id: 1, paddedTo: 128, clientSubnet: subnet)
        #expect(padded.count == 128)
        #expect(padded.dropFirst(plain.count).starts(with: option + [0, 12]))
        guard case .query = Query.receive(padded.span) else {
            Issue.record("not taken as a query")
            return
        }
    }

    @Test("our own query reader takes our queries")
    func roundTrip() throws {
        let question = Question(try #require(Name("www.example.com")), .a)
        let message = UpstreamQuery.message(for: question, id: 7, payloadSize: 4096, paddedTo: 128)
        guard case .query(let query) = Query.receive(message.span) else {
            Issue.record("not taken as a query")
            return
        }
        #expect(query.id == 7)
        #expect(query.name(in: message.span) == question.name)
        #expect(query.type == .a)
        #expect(query.edns?.payloadBytes == 4096)
    }
}
