// The validity period of certificates, apart from trust: an expired certificate of the right server is not a forgery.

import Crypto
import Testing

@testable import TestTLS

struct TLSValidityTests {
    private static let now = TestCertificate.now
    private static let day: Int64 = 86_400
    private static let good = CertificateTerms(names: "DNS:www.example.com")
    private let authorities: Authorities

    init() throws {
        authorities = try Authorities()
    }

    private static func intermediate(isExpired: Bool) -> CertificateTerms {
        var terms = CertificateTerms(subject: "intermediate", isAuthority: true)
        if isExpired { terms.notAfter = now - 1 }
        terms.serial = isExpired ? 2 : 3
        return terms
    }

    @Test("a certificate is valid from its first second to before its last")
    func bounds() throws {
        var terms = TLSValidityTests.good
        (terms.notBefore, terms.notAfter) = (TLSValidityTests.now - 10, TLSValidityTests.now + 10)
        let chain = [TestCertificate(terms, issuer: authorities.root)]
        for (offset, isValid) in [(-11, false), (-10, true), (0, true), (9, true), (10, false)] {
            let peer = try authorities.peer(chain, now: TLSValidityTests.now + Int64(offset))
            #expect(peer.trust == .trusted && peer.matchesName, "\(offset)")
            #expect(peer.isValidNow == isValid, "\(offset)")
        }
    }

    @Test("clocks that are centuries off make nothing but a certificate that is not valid", arguments: [0, 1 << 40])
    func wildClocks(now: Int64) throws {
        let peer = try authorities.peer([TestCertificate(TLSValidityTests.good, issuer: authorities.root)], now: now)
        #expect(peer.trust == .trusted && peer.matchesName && !peer.isValidNow)
    }

    @Test("a self-signed certificate is untrusted, and valid only until it expires")
    func untrusted() throws {
        var terms = TLSValidityTests.good
        let young = try authorities.peer([TestCertificate(terms)])
        #expect(young.trust == .untrusted("self-signed certificate") && young.isValidNow)
        terms.notAfter = TLSValidityTests.now - 1
        let old = try authorities.peer([TestCertificate(terms)])
        #expect(old.trust == .untrusted("self-signed certificate") && !old.isValidNow)
    }

    @Test("an expired certificate of another name is trusted, for the other name, and not valid")
    func otherName() throws {
        let terms = CertificateTerms(names: "DNS:www.example.org", notAfter: TLSValidityTests.now - 1)
        let peer = try authorities.peer([TestCertificate(terms, issuer: authorities.root)])
        #expect(peer.trust == .trusted && !peer.matchesName && !peer.isValidNow)
    }

    @Test("an intermediate that has expired makes the chain invalid, and not untrusted")
    func expiredIntermediate() throws {
        let intermediate = TestCertificate(TLSValidityTests.intermediate(isExpired: true), issuer: authorities.root)
        let leaf = TestCertificate(TLSValidityTests.good, issuer: intermediate)
        let peer = try authorities.peer([leaf, intermediate])
        #expect(peer.trust == .trusted && peer.matchesName && !peer.isValidNow)
    }

    @Test("an expired intermediate does no harm beside one that is valid", arguments: [false, true])
    func alternative(expiredFirst: Bool) throws {
        let key = TestKey()
        let pair = [expiredFirst, !expiredFirst].map {
            TestCertificate(TLSValidityTests.intermediate(isExpired: $0), key: key, issuer: authorities.root)
        }
        let leaf = TestCertificate(TLSValidityTests.good, issuer: pair[0])
        let peer = try authorities.peer([leaf] + pair)
        #expect(peer.trust == .trusted && peer.isValidNow)
    }

    @Test("a root that has expired makes the chain invalid, and not untrusted")
    func expiredRoot() throws {
        var terms = Authorities.rootTerms
        terms.notAfter = TLSValidityTests.now - 1
        let authorities = try Authorities(trusted: [terms])
        let peer = try authorities.peer([TestCertificate(TLSValidityTests.good, issuer: authorities.root)])
        #expect(peer.trust == .trusted && !peer.isValidNow)
    }

    @Test("a root that has expired does no harm where a valid root vouches for its key")
    func crossSigned() throws {
        var old = CertificateTerms(subject: "old root", isAuthority: true)
        old.notAfter = TLSValidityTests.now - 1
        let authorities = try Authorities(trusted: [Authorities.rootTerms, old])
        let oldRoot = authorities.trusted[1]
        old.notAfter = TLSValidityTests.now + TLSValidityTests.day
        let crossSigned = TestCertificate(old, key: oldRoot.key, issuer: authorities.root)
        let leaf = TestCertificate(TLSValidityTests.good, issuer: oldRoot)
        #expect(try authorities.peer([leaf]).isValidNow == false)
        let peer = try authorities.peer([leaf, crossSigned])
        #expect(peer.trust == .trusted && peer.isValidNow)
    }
}
