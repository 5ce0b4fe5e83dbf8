// Extended errors of upstreams (RFC 8914): what is read, how it is cleaned, and how replies carry it.

import DNSWire
import TestSupport
import Testing

private func option(_ code: UInt16, _ text: [UInt8]) -> [UInt8] {
    [0, 15, UInt8((text.count + 2) >> 8), UInt8((text.count + 2) & 0xFF), UInt8(code >> 8), UInt8(code & 0xFF)] + text
}

private func option(_ code: UInt16, _ text: String = "") -> [UInt8] { option(code, Array(text.utf8)) }

struct ExtendedErrorTests {
    private let name: Name

    init() throws {
        name = try #require(Name("www.example.com"))
    }

    @Test(
        "one error of a reply is kept: the first about the name, else the first",
        arguments: [
            ([], nil, ""), (option(3, "stale"), 3, "stale"), (option(3) + option(22, "no"), 3, ""),
            (option(3, "stale") + option(15, "malware"), 15, "malware"), (option(16, "a") + option(9, "b"), 16, "a"),
            ([0, 10, 0, 2, 1, 2] + option(6, "bogus"), 6, "bogus"), (option(0, "x") + [0, 12, 0, 9], 0, "x"),
            ([0, 15, 0, 1, 7] + option(4), 4, ""), ([0, 15, 0, 9, 0, 15], nil, ""), ([0, 15], nil, ""),
            // After the eighth none is read.
            (Array((0..<8).map { option(UInt16($0) + 22) }.joined()) + option(15), 22, ""),
        ] as [([UInt8], UInt16?, String)])
    func chosen(options: [UInt8], code: UInt16?, text: String) {
        let error = ExtendedError(options: options)
        #expect(error?.code == code && error?.text ?? "" == text)
    }

    @Test(
        "an upstream's text is valid UTF-8 without controls, and bounded",
        arguments: [
            (Array("gefährlich".utf8), "gefährlich"), (Array("a\u{1b}[31m\r\n\u{0}b\u{202e}c\u{7f}".utf8), "a[31mbc"),
            ([0x61, 0xFF, 0xC3], "a\u{FFFD}\u{FFFD}"),
            (Array(repeating: 0x78, count: 400), String(repeating: "x", count: 128)),
            (Array(String(repeating: "ü", count: 65).utf8), String(repeating: "ü", count: 64)),
        ] as [([UInt8], String)])
    func cleaned(text: [UInt8], expected: String) {
        #expect(ExtendedError(options: option(15, text))?.text == expected)
    }

    // MARK: replies

    private func options(_ answer: Answer, _ packet: QueryPacket, limit: Int, stale: ExtendedError? = nil) throws
        -> [UInt8]?
    {
        let reply = try RenderedReply.bytes(answer, to: packet, limit: limit, extendedError: stale)
        #expect(reply.count <= limit)
        return try DecodedMessage(reply).optionRecord?.data
    }

    @Test("every kind of answer carries its error to a client with EDNS, and to no other")
    func carried() throws {
        let error = ExtendedError(upstream: 15, text: "malware".utf8)
        let answers = [
            Answer.addresses(of: name, count: 2), Answer(negative: .noData), Answer(negative: .noSuchName),
            Answer(negative: .ambiguousEmpty),
        ]
        for answer in answers.map({ $0.remarked(error) }) {
            for changed in [answer, answer.withTTL(to: 1), answer.authenticated(true), answer.mapTTLs { $0 + 1 }] {
                let asked = QueryPacket(name, .a, payloadSize: 1232)
                #expect(try options(changed, asked, limit: 512) == option(15, "malware"))
                #expect(try options(changed, QueryPacket(name, .a), limit: 512) == nil)
                let stale = RenderedAnswer(changed, to: asked.question).withEveryTTL(30)
                #expect(stale.extendedError == error)
            }
        }
    }

    @Test("of an expired answer's two errors the one about its age stands first")
    func stale() throws {
        let answer = Answer.addresses(of: name, count: 1).remarked(ExtendedError(upstream: 17, text: "t".utf8))
        let found = try options(
            answer, QueryPacket(name, .a, payloadSize: 1232), limit: 1232, stale: .staleAnswer)
        #expect(found == option(3, ExtendedError.staleAnswer.text) + option(17, "t"))
    }

    @Test("errors make room for records: first the texts go, then the errors, and TC tells that")
    func room() throws {
        let answer = Answer.addresses(of: name, count: 3).remarked(ExtendedError(upstream: 17, text: "abc".utf8))
        let asked = QueryPacket(name, .a, payloadSize: 1232)
        let plain = try RenderedReply.bytes(Answer.addresses(of: name, count: 3), to: asked).count
        let texts = 3 + ExtendedError.staleAnswer.text.utf8.count
        let cases: [(Int, [UInt8], Bool)] = [
            (12 + texts, option(3, ExtendedError.staleAnswer.text) + option(17, "abc"), false),
            (11 + texts, option(3) + option(17), false), (12, option(3) + option(17), false),
            (11, [], true), (0, [], true),
        ]
        for (room, expected, isTruncated) in cases {
            let reply = try DecodedMessage(
                RenderedReply.bytes(answer, to: asked, limit: plain + room, extendedError: .staleAnswer))
            #expect(reply.answers.count == 3 && reply.isTruncated == isTruncated, "\(room)")
            #expect(reply.optionRecord?.data == expected, "\(room)")
        }
        let cut = try DecodedMessage(RenderedReply.bytes(answer, to: asked, limit: plain - 1))
        #expect(cut.answers.count == 2 && cut.isTruncated && cut.optionRecord?.data == [])
    }

    @Test("the largest reply without records fits 512 bytes with two errors")
    func largest() throws {
        let long = try #require(
            Name(Array(repeating: String(repeating: "x", count: 61), count: 4).joined(separator: ".")))
        let error = ExtendedError(upstream: 15, text: Array(repeating: 0x78, count: 400))
        let asked = QueryPacket(long, .a, payloadSize: 512)
        let found = try options(
            Answer(negative: .noSuchName).remarked(error), asked, limit: 512, stale: .staleNoSuchName)
        #expect(found?.count == 2 * 6 + 128 + ExtendedError.staleNoSuchName.text.utf8.count)
    }
}
