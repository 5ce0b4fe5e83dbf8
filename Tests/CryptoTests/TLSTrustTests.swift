// Who vouches for a server: chains that lead to an authority, and chains that do not.

import Crypto
import Testing

struct TLSTrustTests {
    private static let good = CertificateTerms(names: "DNS:www.example.com")
    private let authorities: Authorities

    init() throws {
        authorities = try Authorities()
    }

    @Test("a good server is trusted, by its name and at its time", arguments: TLSVersion.allCases)
    func good(version: TLSVersion) throws {
        let intermediate = authorities.intermediate()
        let leaf = TestCertificate(TLSTrustTests.good, issuer: intermediate)
        let terms = MemoryServer.Terms(highest: version.number, protocolName: "h2")
        let peer = try authorities.peer([leaf, intermediate], terms)
        #expect(peer.trust == .trusted && peer.matchesName && peer.isValidNow)
        #expect(peer.protocolName == "h2")
        #expect(peer.version == version.rawValue)
        #expect(peer.certificate.names == ["www.example.com"])
        #expect(peer.certificate.issuer == "CN = intermediate")
        #expect(peer.certificate.fingerprint == hex(try Digest.sha256(leaf.der)))
        #expect(peer.certificate.notBefore == TestCertificate.now - 86_400)
        #expect(peer.certificate.notAfter == TestCertificate.now + 86_400)
    }
}
