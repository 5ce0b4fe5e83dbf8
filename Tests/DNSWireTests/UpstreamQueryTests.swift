// The queries we send upstream, compared with bytes written by hand.

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
