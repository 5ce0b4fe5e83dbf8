// Random changes to handshakes and certificates: a change may cause any failure, but it never makes a wrong certificate
// valid.

@testable import Crypto
@testable import TestTLS
import COpenSSL
import TestSupport
import Testing

struct TLSMutationTests {
    private static let good = CertificateTerms(names: "DNS:www.example.com")
    private let authorities: Authorities

    init() throws {
        authorities = try Authorities()
    }

    @Test("no change of a server's flight makes a wrong certificate right", arguments: TLSVersion.allCases)
    func flights(version: TLSVersion) throws {
        let otherName = CertificateTerms(names: "DNS:www.example.net")
        let wrong = [
            TestCertificate(otherName, issuer: authorities.root),
            TestCertificate(TLSMutationTests.good, issuer: authorities.stranger),
        ]
        var random = SeededRandom(seed: 17)
        var outcomes = (done: 0, failed: 0, waiting: 0)
        for round in 0..<400 {
            let server = MemoryServer([wrong[round % 2]], .init(highest: version.number))
            var client = try TLSHandshake(
                authorities.context, name: "www.example.com", nowSeconds: TestCertificate.now)
            let progress = client.talk(with: server) { TLSMutationTests.change(&$0, using: &random) }
            switch progress.first {
            case .done(let peer):
                outcomes.done += 1
                #expect(!(peer.trust == .trusted && peer.matchesName), "round \(round)")
            case .failed: outcomes.failed += 1
            default: outcomes.waiting += 1
            }
        }
        #expect(outcomes.done > 0 && outcomes.failed > 0 && outcomes.waiting > 0, "\(outcomes)")
    }

    @Test("no change of a certificate's bytes is trusted")
    func certificates() throws {
        let intermediate = authorities.intermediate()
        let leaf = TestCertificate(TLSMutationTests.good, issuer: intermediate)
        #expect(TLSMutationTests.judge(leaf, intermediate, authorities.root)?.trust == .trusted)
        var random = SeededRandom(seed: 23)
        var readable = 0
        for round in 0..<4_000 {
            let original = round.isMultiple(of: 2) ? leaf : intermediate
            var bytes = original.der
            TLSMutationTests.change(&bytes, using: &random)
            guard let changed = TestCertificate(der: bytes, key: leaf.key), changed.der != original.der else {
                continue
            }
            readable += 1
            let judged =
                round.isMultiple(of: 2)
                ? TLSMutationTests.judge(changed, intermediate, authorities.root)
                : TLSMutationTests.judge(leaf, changed, authorities.root)
            #expect(judged?.trust != .trusted, "round \(round)")
        }
        #expect(readable > 400)
    }

    /// Judges the facts alone, without a handshake.
    private static func judge(
        _ leaf: TestCertificate, _ intermediate: TestCertificate, _ root: TestCertificate
    ) -> (trust: TLSPeer.Trust, certificate: PeerCertificate?)? {
        let store = unsafe X509_STORE_new()
        let shown = unsafe OPENSSL_sk_new_null()
        defer {
            unsafe OPENSSL_sk_free(shown)
            unsafe X509_STORE_free(store)
            ERR_clear_error()
        }
        unsafe X509_STORE_add_cert(store, root.pointer)
        unsafe OPENSSL_sk_push(shown, UnsafeRawPointer(intermediate.pointer))
        guard let store = unsafe store else { return nil }
        let chain = unsafe ShownChain(leaf: leaf.pointer, shown: shown, store: store, securityLevel: 2)
        _ = chain.matches("www.example.com")
        let certificate = unsafe PeerCertificate(leaf.pointer)
        return chain.trust(nowSeconds: TestCertificate.now).map { ($0.verdict, certificate) }
    }

    /// Makes one to three changes (bits, bytes, cuts, repetitions or insertions), and sometimes none.
    private static func change(_ bytes: inout [UInt8], using random: inout SeededRandom) {
        for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0...9, using: &random) {
            case 0...3: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 4...6: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 7: bytes.removeSubrange(place...)
            case 8: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
            default: bytes.insert(contentsOf: bytes[place...].prefix(50), at: place)
            }
        }
    }
}
