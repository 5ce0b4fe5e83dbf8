// DNS cookies: the vectors of RFC 9018 appendix A, and the validity of a cookie for an address and a time.

import TestSupport
import Testing

@testable import Serving
@testable import DNSWire

struct CookieTests {
    private static let day: UInt32 = 24 * 3600
    private let keys = CookieKeys(root: (1, 2))
    private let client = Address.v4(0xC633_6464)

    @Test("SipHash-2-4 of fifteen bytes is what its authors say (appendix A of their paper)")
    func sipHash() {
        var state = SipState((0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908))
        state.absorb(0x0706_0504_0302_0100, rounds: 2)
        state.absorb(15 << 56 | 0x000E_0D0C_0B0A_0908, rounds: 2)
        #expect(state.finish(rounds: 4) == 0xA129_CA61_49BE_45E5)
    }

    /// The vectors: secret, client's address, client cookie, server cookie.
    private static let vectors: [(String, String, UInt64, UInt64, UInt64)] = [
        // The vector of A.1.
        (
            "e5e973e5a6b2a43f48e7dc849e37bfcf", "198.51.100.100", 0x2464_C4AB_CF10_C957, 0x0100_0000_5CF7_9F11,
            0x1F81_30C3_EEE2_9480
        ),
        // The vector of A.2.
        (
            "e5e973e5a6b2a43f48e7dc849e37bfcf", "198.51.100.100", 0x2464_C4AB_CF10_C957, 0x0100_0000_5CF7_A871,
            0xD4A5_64A1_442A_CA77
        ),
        // The vectors of A.3: the cookie of the query, whose reserved bytes are not zero, and that of the reply.
        (
            "e5e973e5a6b2a43f48e7dc849e37bfcf", "203.0.113.203", 0xFC93_FC62_807D_DB86, 0x01AB_CDEF_5CF7_8F71,
            0xA314_227B_6679_EBF5
        ),
        (
            "e5e973e5a6b2a43f48e7dc849e37bfcf", "203.0.113.203", 0xFC93_FC62_807D_DB86, 0x0100_0000_5CF7_A9AC,
            0xF73A_7810_ACA2_381E
        ),
        // The vectors of A.4: with the old secret, and with the new one.
        (
            "dd3bdf9344b678b185a6f5cb60fca715", "2001:db8:220:1:59de:d0f4:8769:82b8", 0x2268_1AB9_7D52_C298,
            0x0100_0000_5CF7_C579, 0x2655_6BD0_934C_72F8
        ),
        (
            "445536bcd2513298075a5d379663c962", "2001:db8:220:1:59de:d0f4:8769:82b8", 0x2268_1AB9_7D52_C298,
            0x0100_0000_5CF7_C609, 0xA6BB_79D1_6625_507A
        ),
    ]

    @Test("the server cookies of RFC 9018 appendix A come out to the byte")
    func vectors() throws {
        for (secret, address, cookie, stamp, hash) in CookieTests.vectors {
            let halves = [secret.prefix(16), secret.suffix(16)].compactMap { UInt64($0, radix: 16)?.byteSwapped }
            let address = try #require(Address(address))
            #expect(CookieKeys.hash(cookie, stamp, address, (halves[0], halves[1])) == hash, "\(address) \(stamp)")
        }
    }

    private func cookie(at seconds: UInt32, for address: Address? = nil) throws -> Cookie {
        let proof = keys.proof(.client(42, hasServerCookie: false), from: address ?? client, seconds: seconds)
        return try #require(proof.replyCookie)
    }

    @Test("a client without a cookie of ours gets one, and it proves the address it was sent to and no other")
    func learning() throws {
        let given = try cookie(at: 1_700_000_000)
        #expect(given.client == 42 && given.stamp == 1 << 56 | 1_700_000_000)
        #expect(keys.proof(.full(given), from: client, seconds: 1_700_000_000) == .valid(given))
        #expect(!keys.proof(.full(given), from: .v4(0xC633_6465), seconds: 1_700_000_000).isValid)
        let forged = Cookie(client: 43, stamp: given.stamp, hash: given.hash)
        #expect(!keys.proof(.full(forged), from: client, seconds: 1_700_000_000).isValid)
        #expect(!CookieKeys(root: (1, 3)).proof(.full(given), from: client, seconds: 1_700_000_000).isValid)
        for bit in 0..<64 {
            let other = Cookie(client: 42, stamp: given.stamp, hash: given.hash ^ 1 << UInt64(bit))
            #expect(!keys.proof(.full(other), from: client, seconds: 1_700_000_000).isValid)
        }
    }

    @Test("a cookie is good for an hour and renewed after half of it; one from the future for five minutes")
    func lifetime() throws {
        // The last cookie is made with the key of the day before the one on which it comes back.
        for made in [1_700_000_000, UInt32.max - 10, 19_000 * CookieTests.day - 1] {
            let given = try cookie(at: made)
            func proof(_ later: UInt32) -> CookieKeys.Proof {
                keys.proof(.full(given), from: client, seconds: made &+ later)
            }
            #expect(proof(1800) == .valid(given))
            let renewed = proof(1801)
            #expect(renewed.isValid && renewed.replyCookie?.stamp == 1 << 56 | UInt64(made &+ 1801))
            #expect(proof(3600).isValid && !proof(3601).isValid)
            #expect(proof(0 &- 300).isValid && !proof(0 &- 301).isValid)
        }
    }

    @Test("another version is no cookie of ours, and reserved bytes that are set are not repeated")
    func otherVersions() throws {
        let given = try cookie(at: 1000)
        let second = Cookie(client: 42, stamp: 2 << 56 | 1000, hash: given.hash)
        #expect(!keys.proof(.full(second), from: client, seconds: 1000).isValid)
        #expect(keys.proof(.full(second), from: client, seconds: 1000).replyCookie == given)
    }
}
