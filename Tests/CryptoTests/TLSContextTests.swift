// The state that handshakes share: the source of the authorities, and the error if there are none.

import TestSupport
import Testing

@testable import Crypto
@testable import TestTLS

struct TLSContextTests {
    private let folder = TemporaryFolder()

    @Test("a file of authorities that is missing, or has none in it, is an error that names it")
    func files() throws {
        let missing = folder("missing.pem")
        let error = #expect(throws: CryptoError.self) { try TLSContext(caFile: missing, protocols: []) }
        #expect(error?.text == "\(missing): No such file or directory")
        let text = folder("text.pem")
        folder.write(Array("no certificate\n".utf8), to: text)
        let other = #expect(throws: CryptoError.self) { try TLSContext(caFile: text, protocols: []) }
        #expect(other?.text.hasPrefix("\(text): ") == true)
    }

    @Test("a directory with authorities under the names of their hashes is used as one, unless they are few")
    func hashedDirectory() {
        #expect(!TLSContext.isHashed(folder("missing")))
        for number in 10..<25 { folder.write([], to: folder("abcdef\(number).0")) }
        for other in ["abcdef30.1", "ABCDEF30.0", "abcdef300.0", "abcdef3.0", "ca-certificates.crt", "x.pem"] {
            folder.write([], to: folder(other))
        }
        #expect(!TLSContext.isHashed(folder.path))
        folder.write([], to: folder("abcdef25.0"))
        #expect(TLSContext.isHashed(folder.path))
    }

    @Test("a file may hold many authorities")
    func manyAuthorities() throws {
        let terms = ["one", "two"].map { CertificateTerms(subject: $0, isAuthority: true) }
        let authorities = try Authorities(trusted: terms)
        #expect(authorities.context.hasAuthorities)
        for root in authorities.trusted {
            let leaf = TestCertificate(CertificateTerms(names: "DNS:www.example.com"), issuer: root)
            #expect(try authorities.peer([leaf]).trust == .trusted)
        }
    }

    @Test("protocols that ALPN cannot carry are refused", arguments: ["", String(repeating: "a", count: 256)])
    func protocols(name: String) {
        #expect(throws: CryptoError.self) { try TLSContext(caFile: nil, protocols: ["h2", name]) }
    }

    @Test("the system's authorities do not know ours")
    func system() throws {
        let system = try TLSContext(caFile: nil, protocols: [])
        #expect(system.hasAuthorities, "ca-certificates is among the packages of the tests")
        let authorities = try Authorities()
        let leaf = TestCertificate(CertificateTerms(names: "DNS:www.example.com"), issuer: authorities.root)
        var client = try TLSHandshake(system, name: "www.example.com", nowSeconds: TestCertificate.now)
        guard case .done(let peer) = client.talk(with: MemoryServer([leaf])).first else {
            Issue.record("no handshake")
            return
        }
        #expect(peer.trust == .untrusted("unable to get local issuer certificate") && peer.matchesName)
    }

    @Test("a handshake outlives the last other use of its context")
    func contextReleased() throws {
        let authorities = try Authorities()
        let leaf = TestCertificate(CertificateTerms(names: "DNS:www.example.com"), issuer: authorities.root)
        func client() throws -> TLSHandshake {
            let context = try TLSContext(caFile: nil, protocols: ["h2"])
            return try TLSHandshake(context, name: "www.example.com", nowSeconds: TestCertificate.now)
        }
        var orphan = try client()
        #expect(orphan.talk(with: MemoryServer([leaf])).count == 1)
    }
}
