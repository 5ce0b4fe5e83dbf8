// Failed handshakes: servers that refuse, that are too old, that use another protocol, or that never stop.

import COpenSSL
import Crypto
import TestSupport
import Testing

@testable import TestTLS

struct TLSFailureTests {
    private let authorities: Authorities
    private let chain: [TestCertificate]

    init() throws {
        authorities = try Authorities()
        chain = [TestCertificate(CertificateTerms(names: "DNS:www.example.com"), issuer: authorities.root)]
    }

    private func client() throws -> TLSHandshake {
        try TLSHandshake(authorities.context, name: "www.example.com", nowSeconds: TestCertificate.now)
    }

    /// The client's result for these bytes of a server, received at once and byte by byte.
    private func outcome(of bytes: [UInt8]) throws -> [TLSHandshake.Progress] {
        var whole = try client()
        var single = try client()
        let outcome = whole.hear(bytes)
        #expect(single.hear(bytes, cut: 1) == outcome)
        return outcome
    }

    @Test("a server that speaks only TLS 1.0 or 1.1 ends with an alert", arguments: [TLS1_VERSION, TLS1_1_VERSION])
    func oldServer(version: Int32) throws {
        let refusal = try authorities.conversation(chain, .init(highest: version))
        #expect(refusal == [.failed(.alert("tlsv1 alert protocol version"))])
        // An older server sends the version that it supports: a ServerHello with TLS_RSA_WITH_AES_128_CBC_SHA.
        let minor = UInt8(version & 0xFF)
        let hello = [2, 0, 0, 38, 3, minor] + [UInt8](repeating: 7, count: 32) + [0, 0, 0x2F, 0]
        #expect(try outcome(of: [22, 3, minor, 0, 42] + hello) == [.failed(.alert("unsupported protocol"))])
    }

    @Test("the alerts of servers that refuse are told apart")
    func alerts() throws {
        let reasons: [([UInt8], String)] = [
            ([2, 40], "sslv3 alert handshake failure"), ([2, 70], "tlsv1 alert protocol version"),
            ([2, 112], "tlsv1 unrecognized name"), ([2, 80], "tlsv1 alert internal error"),
            ([2, 123], "reason(1123)"), ([1, 0], "close notify"),
        ]
        for (alert, reason) in reasons {
            #expect(try outcome(of: [21, 3, 3, 0, 2] + alert) == [.failed(.alert(reason))], "\(alert)")
        }
    }

    @Test("a server that does not know the name says so", arguments: TLSVersion.allCases)
    func unknownName(version: TLSVersion) throws {
        let terms = MemoryServer.Terms(highest: version.number, onlyName: "www.example.org")
        #expect(try authorities.conversation(chain, terms) == [.failed(.alert("tlsv1 unrecognized name"))])
        let asked = try authorities.conversation(chain, name: "www.example.org", terms)
        #expect(asked.count == 1 && asked.first?.isEnd == false)
    }

    @Test(
        "what is not TLS is said to be none, at its first bytes",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n\r\n", "<html>", "SSH-2.0-OpenSSH_9.2\r\n", "220 mail.example ESMTP\r\n",
            "\u{0}\u{0}\u{0}\u{0}", "+OK", "H",
        ])
    func otherProtocols(greeting: String) throws {
        #expect(try outcome(of: Array(greeting.utf8)) == [.failed(.notTLS)])
    }

    @Test("a record's head that cannot be one is no TLS")
    func wrongHeads() throws {
        let heads: [[UInt8]] = [
            [20, 3, 3, 0, 1], [23, 3, 3, 0, 1], [22, 2, 0], [22, 3, 5], [22, 3, 3, 0x41], [128, 46, 1, 3, 1], [255],
        ]
        for head in heads { #expect(try outcome(of: head) == [.failed(.notTLS)], "\(head)") }
    }

    @Test("random bytes never get further than to an alert")
    func randomBytes() throws {
        var random = SeededRandom(seed: 5)
        for round in 0..<200 {
            var bytes = (0..<400).map { _ in UInt8.random(in: 0...255, using: &random) }
            // Every second round begins with a valid record header.
            if round.isMultiple(of: 2) { bytes.replaceSubrange(0..<6, with: [22, 3, 3, 1, 0, 2]) }
            let outcome = try outcome(of: bytes)
            switch outcome.first {
            case .failed(.notTLS): #expect(!round.isMultiple(of: 2))
            case .failed(.alert): break
            default: Issue.record("round \(round): \(outcome)")
            }
        }
    }

    @Test("a server that begins with TLS and goes on with something else speaks TLS, and badly")
    func garbageAfterRecord() throws {
        let greeting = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
        // The record is a warning without a meaning.
        #expect(try outcome(of: [21, 3, 3, 0, 2, 1, 90] + greeting) == [.failed(.alert("wrong version number"))])
    }

    @Test("what never ends is ended, whether records count for something or not")
    func endless() throws {
        let bound = "more than \(TLSHandshake.maxHandshakeBytes) bytes of handshake"
        // The server sends the first part of a certificate message that claims 100,000 bytes, then one byte in each
        // record.
        let server = MemoryServer(chain, .init(highest: TLS1_2_VERSION))
        var client = try client()
        let hello = server.reply(to: client.takeOutgoing())
        let length = 5 + Int(hello[3]) << 8 + Int(hello[4])
        #expect(client.hear(Array(hello.prefix(length))).isEmpty)
        #expect(client.hear([22, 3, 3, 0, 4, 11, 1, 0x86, 0xA0]).isEmpty)
        var heard = length + 9
        while client.receive([22, 3, 3, 0, 1, 0].span) == .underWay { heard += 6 }
        #expect(heard <= TLSHandshake.maxHandshakeBytes && heard > TLSHandshake.maxHandshakeBytes - 6)
        #expect(client.hear([22]) == [.failed(.alert(bound))])
    }

    @Test("a message that is too long, and records without content, are ended sooner")
    func excessive() throws {
        let long: [UInt8] = [22, 3, 3, 0, 4, 2, 0xFF, 0xFF, 0xFF]
        #expect(try outcome(of: long) == [.failed(.alert("excessive message size"))])
        for record: [UInt8] in [[22, 3, 3, 0, 0], [21, 3, 3, 0, 2, 1, 90], [22, 3, 3, 0, 4, 0, 0, 0, 0]] {
            let endless = Array(repeatElement(record, count: 40_000).joined())
            let outcome = try outcome(of: endless)
            guard case .failed(.alert) = outcome.first else {
                Issue.record("\(record): \(outcome)")
                continue
            }
        }
    }

    @Test("after a failure nothing is taken in, and the server is told why")
    func afterFailure() throws {
        var client = try client()
        _ = client.takeOutgoing()
        let failure = TLSHandshake.Progress.failed(.alert("excessive message size"))
        #expect(client.hear([22, 3, 3, 0, 4, 2, 0xFF, 0xFF, 0xFF]) == [failure])
        #expect(client.takeOutgoing() == [21, 3, 3, 0, 2, 2, 47])
        #expect(client.hear([22, 3, 3, 0, 4]) == [failure])
        client.send([1])
        #expect(client.takeOutgoing().isEmpty)
    }
}
