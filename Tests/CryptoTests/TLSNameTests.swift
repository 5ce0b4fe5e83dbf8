// The names for which a certificate is valid: browsers' rules, apart from trust and time.

import Crypto
import Testing

@testable import TestTLS

struct TLSNameTests {
    private let authorities: Authorities

    init() throws {
        authorities = try Authorities()
    }

    private func peer(_ names: String, subject: String = "example server", asked: String) throws -> TLSPeer {
        let terms = CertificateTerms(subject: subject, names: names)
        let peer = try authorities.peer([TestCertificate(terms, issuer: authorities.root)], name: asked)
        #expect(peer.trust == .trusted && peer.isValidNow)
        return peer
    }

    @Test(
        "a certificate is for the names in it",
        arguments: [
            ("DNS:www.example.com", "www.example.com"),
            ("DNS:www.example.com", "WWW.Example.COM"),
            ("DNS:WWW.example.com", "www.example.com"),
            ("DNS:a.example, IP:192.0.2.1, DNS:www.example.com", "www.example.com"),
            ("DNS:*.example.com", "www.example.com"),
            ("DNS:*.example.com", "my_site.example.com"),
            ("DNS:my_site.example.com", "my_site.example.com"),
            ("DNS:*.example.com", "xn--bcher-kva.example.com"),
            ("DNS:xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("DNS:*.xn--bcher-kva.example", "www.xn--bcher-kva.example"),
        ])
    func matches(names: String, asked: String) throws {
        #expect(try peer(names, asked: asked).matchesName)
    }

    @Test(
        "a certificate is for no other name",
        arguments: [
            ("DNS:www.example.com", "example.com"),
            ("DNS:example.com", "www.example.com"),
            ("DNS:www.example.com", "www.example.org"),
            ("DNS:*.example.com", "example.com"),
            ("DNS:*.example.com", "a.b.example.com"),
            ("DNS:*.*.example.com", "a.b.example.com"),
            ("DNS:w*.example.com", "www.example.com"),
            ("DNS:www.*.com", "www.example.com"),
            ("DNS:*.com", "example.com"),
            ("DNS:*", "example"),
            ("DNS:xx.example.com", "my_site.example.com"),
            ("DNS:x.example.com", "_.example.com"),
            ("DNS:x.example.com, DNS:*.b.example.com", "_.example.com"),
            ("DNS:bücher.example", "xn--bcher-kva.example"),
            ("DNS:.example.com", "www.example.com"),
            ("IP:192.0.2.1", "www.example.com"),
            ("URI:https://www.example.com/, email:me@www.example.com", "www.example.com"),
        ])
    func differs(names: String, asked: String) throws {
        #expect(try !peer(names, asked: asked).matchesName)
    }

    @Test("the subject's name does not count, with alternative names or without", arguments: ["", "IP:192.0.2.1"])
    func subjectOnly(names: String) throws {
        let peer = try peer(names, subject: "www.example.com", asked: "www.example.com")
        #expect(!peer.matchesName)
        #expect(peer.certificate.names == ["CN = www.example.com"], "for people there is nothing better")
    }

    @Test("the server is asked for the name, in lower case")
    func serverName() throws {
        let server = MemoryServer([TestCertificate(CertificateTerms())])
        var client = try TLSHandshake(authorities.context, name: "WWW.Example.com", nowSeconds: TestCertificate.now)
        _ = client.talk(with: server)
        #expect(server.name == "www.example.com")
    }

    @Test(
        "what is no name of a host is refused",
        arguments: [
            "", ".", "example.com.", ".example.com", "a..b", "*.example.com", "a b", "b\u{FC}cher.example", "a\0b",
            String(repeating: "a", count: 64), Array(repeating: "abcdefg", count: 32).joined(separator: "."),
        ])
    func wrongNames(name: String) {
        #expect(throws: CryptoError.self) {
            _ = try TLSHandshake(authorities.context, name: name, nowSeconds: TestCertificate.now)
        }
    }

    @Test("what a certificate says is bounded, and cannot write to a terminal")
    func texts() throws {
        let many = (0..<120).map { "DNS:host-\($0).example.com" }.joined(separator: ",")
        let peer = try peer(many, subject: "\u{1B}[2J\u{9B}1m\u{202E}\u{7F}\n", asked: "host-119.example.com")
        #expect(peer.matchesName, "it counts even if it is not shown")
        #expect(peer.certificate.names.count == PeerCertificate.maxNames)
        let bare = try self.peer("", subject: "\u{1B}[2J\u{9B}1m\u{202E}\u{7F}\n\u{FC}", asked: "www.example.com")
        let shown = try #require(bare.certificate.names.first)
        #expect(shown.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
        #expect(!shown.unicodeScalars.contains("\u{202E}") && shown.hasSuffix("\u{FC}"))
        let long = try self.peer("DNS:" + String(repeating: "\u{9B}", count: 400), asked: "www.example.com")
        #expect(long.certificate.names.allSatisfy { $0.utf8.count <= PeerCertificate.maxTextBytes })
    }
}
