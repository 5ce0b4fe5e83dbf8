// Certificate chains that lead to an authority, and chains that do not. Name and time are valid in all of them.

import Crypto
import Testing

@testable import TestTLS

struct TLSTrustTests {
    private static let good = CertificateTerms(names: "DNS:www.example.com")
    private let authorities: Authorities

    init() throws {
        authorities = try Authorities()
    }

    private func peer(_ chain: [TestCertificate], _ terms: MemoryServer.Terms = .init()) throws -> TLSPeer {
        let peer = try authorities.peer(chain, terms)
        #expect(peer.matchesName && peer.isValidNow)
        return peer
    }

    @Test("a good server is trusted, and everything that it shows is said", arguments: TLSVersion.allCases)
    func good(version: TLSVersion) throws {
        let intermediate = authorities.intermediate()
        let leaf = TestCertificate(TLSTrustTests.good, issuer: intermediate)
        let peer = try peer([leaf, intermediate], .init(highest: version.number, protocolName: "h2"))
        #expect(peer.trust == .trusted)
        #expect(peer.protocolName == "h2")
        #expect(peer.version == version.rawValue)
        #expect(peer.certificate.names == ["www.example.com"])
        #expect(peer.certificate.issuer == "CN = intermediate")
        #expect(peer.certificate.fingerprint == hex(try Digest.sha256(leaf.der)))
        #expect(peer.certificate.notBefore == TestCertificate.now - 86_400)
        #expect(peer.certificate.notAfter == TestCertificate.now + 86_400)
    }

    @Test("a chain may come in any order, with its root, and with certificates that are not part of it")
    func anyOrder() throws {
        let upper = authorities.intermediate()
        let lower = TestCertificate(CertificateTerms(subject: "lower", isAuthority: true), issuer: upper)
        let leaf = TestCertificate(TLSTrustTests.good, issuer: lower)
        #expect(try peer([leaf, authorities.root, authorities.stranger, upper, lower]).trust == .trusted)
    }

    @Test("a server with an RSA key is as good as another", arguments: TLSVersion.allCases)
    func rsa(version: TLSVersion) throws {
        let leaf = TestCertificate(TLSTrustTests.good, key: TestKey(.rsa(bits: 2048)), issuer: authorities.root)
        #expect(try peer([leaf], .init(highest: version.number)).trust == .trusted)
    }

    @Test("a certificate that signs itself is not trusted")
    func selfSigned() throws {
        #expect(try peer([TestCertificate(TLSTrustTests.good)]).trust == .untrusted("self-signed certificate"))
    }

    @Test("an untrusted root does not help, sent along or not")
    func unknownRoot() throws {
        let leaf = TestCertificate(TLSTrustTests.good, issuer: authorities.stranger)
        #expect(
            try peer([leaf, authorities.stranger]).trust == .untrusted("self-signed certificate in certificate chain"))
        #expect(try peer([leaf]).trust == .untrusted("unable to get local issuer certificate"))
    }

    @Test("a chain with a gap is not trusted")
    func missingIntermediate() throws {
        let leaf = TestCertificate(TLSTrustTests.good, issuer: authorities.intermediate())
        #expect(try peer([leaf]).trust == .untrusted("unable to get local issuer certificate"))
    }

    @Test("a root of the trusted one's name is another one")
    func forgedRoot() throws {
        let forged = TestCertificate(Authorities.rootTerms)
        let leaf = TestCertificate(TLSTrustTests.good, issuer: forged)
        guard case .untrusted = try peer([leaf, forged]).trust else {
            Issue.record("trusted by its name")
            return
        }
    }

    @Test("a server's certificate cannot issue another certificate")
    func leafAsAuthority() throws {
        let other = TestCertificate(CertificateTerms(subject: "other", names: "DNS:other"), issuer: authorities.root)
        let leaf = TestCertificate(TLSTrustTests.good, issuer: other)
        guard case .untrusted = try peer([leaf, other]).trust else {
            Issue.record("trusted through a server's certificate")
            return
        }
    }

    @Test("a weak key, a weak signature and a certificate for other uses are not trusted")
    func weak() throws {
        var terms = TLSTrustTests.good
        let weak = TestCertificate(terms, key: TestKey(.rsa(bits: 1024)), issuer: authorities.root)
        #expect(try peer([weak]).trust == .untrusted("EE certificate key too weak"))
        terms.hasSHA1Signature = true
        let old = TestCertificate(terms, issuer: authorities.root)
        #expect(try peer([old]).trust == .untrusted("CA signature digest algorithm too weak"))
        terms = TLSTrustTests.good
        terms.usage = "clientAuth"
        let client = TestCertificate(terms, issuer: authorities.root)
        #expect(try peer([client]).trust == .untrusted("unsuitable certificate purpose"))
    }

    @Test("one authority more or less is another context's matter")
    func contexts() throws {
        let others = try Authorities()
        let leaf = TestCertificate(TLSTrustTests.good, issuer: authorities.root)
        #expect(try peer([leaf]).trust == .trusted)
        #expect(try others.peer([leaf]).trust == .untrusted("unable to get local issuer certificate"))
    }
}
