// DNS cookies (RFC 7873) in their interoperable form (RFC 9018): generation and verification. Stores nothing per
// client; the caller supplies the time.

import DNSWire

struct CookieKeys: Sendable {
    /// Lifetime of a key (RFC 9018 section 5); its cookies stay valid until their maximum age.
    private static let periodSeconds: UInt32 = 24 * 3600
    /// Older cookies are invalid (RFC 9018 section 4.3, which also has the next two limits).
    private static let maxAgeSeconds: Int32 = 3600
    /// Cookies further in the future are invalid.
    private static let maxAheadSeconds: Int32 = 300
    /// A cookie older than this is replaced by a new one.
    private static let renewedAfterSeconds: Int32 = 1800
    private static let version: UInt64 = 1

    typealias Key = (UInt64, UInt64)

    private let root: Key

    /// The proof of its sender's address that a query carries.
    enum Proof: Equatable {
        case none
        /// The query is to be answered with FORMERR (RFC 7873 section 5.2.2).
        case malformed
        /// The address may be forged; the cookie lets the client prove it.
        case missing(Cookie, hadServerCookie: Bool)
        /// The client received an earlier reply at this address; the reply contains this cookie.
        case valid(Cookie)

        var isValid: Bool {
            if case .valid = self { true } else { false }
        }

        var replyCookie: Cookie? {
            switch self {
            case .none, .malformed: nil
            case .missing(let cookie, _), .valid(let cookie): cookie
            }
        }
    }

    /// - Parameter root: random and secret.
    init(root: Key) {
        self.root = root
    }

    /// - Parameter seconds: the time by one clock for all calls; RFC 9018 uses seconds since 1970, modulo 2^32.
    func proof(_ received: Cookie.Received?, from client: Address, seconds: UInt32) -> Proof {
        switch received {
        case nil: return .none
        case .malformed: return .malformed
        case .client(let cookie, let hasServerCookie):
            return .missing(fresh(for: cookie, client, seconds), hadServerCookie: hasServerCookie)
        case .full(let cookie):
            let made = UInt32(truncatingIfNeeded: cookie.stamp)
            // RFC 1982: serial number arithmetic, so that the numbers may wrap.
            let age = Int32(bitPattern: seconds &- made)
            let isOfOurTime = (-CookieKeys.maxAheadSeconds...CookieKeys.maxAgeSeconds).contains(age)
            guard cookie.stamp >> 56 == CookieKeys.version, isOfOurTime,
                CookieKeys.hash(cookie.client, cookie.stamp, client, key(at: made)) == cookie.hash
            else { return .missing(fresh(for: cookie.client, client, seconds), hadServerCookie: true) }
            let mayStay = age <= CookieKeys.renewedAfterSeconds && cookie.stamp == CookieKeys.stamp(made)
            return .valid(mayStay ? cookie : fresh(for: cookie.client, client, seconds))
        }
    }

    private func fresh(for cookie: UInt64, _ client: Address, _ seconds: UInt32) -> Cookie {
        let stamp = CookieKeys.stamp(seconds)
        return Cookie(
            client: cookie, stamp: stamp, hash: CookieKeys.hash(cookie, stamp, client, key(at: seconds)))
    }

    /// The key of the day, derived from the root: each thread has it without a lock, and the time in a cookie
    /// identifies its key.
    private func key(at seconds: UInt32) -> Key {
        let period = UInt64(seconds / CookieKeys.periodSeconds)
        return (half(period, 0), half(period, 1))
    }

    private func half(_ period: UInt64, _ number: UInt64) -> UInt64 {
        var state = SipState(root)
        state.absorb(period, rounds: 2)
        state.absorb(number, rounds: 2)
        state.absorb(16 << 56, rounds: 2)
        return state.finish(rounds: 4)
    }

    private static func stamp(_ seconds: UInt32) -> UInt64 { version << 56 | UInt64(seconds) }

    /// Returns the hash of RFC 9018 section 4.4: SipHash-2-4 of client cookie, version, reserved bytes, timestamp and
    /// address, as eight bytes in network order.
    static func hash(_ cookie: UInt64, _ stamp: UInt64, _ client: Address, _ key: Key) -> UInt64 {
        var state = SipState(key)
        state.absorb(cookie.byteSwapped, rounds: 2)
        state.absorb(stamp.byteSwapped, rounds: 2)
        switch client {
        case .v4(let address): state.absorb(20 << 56 | UInt64(address.byteSwapped), rounds: 2)
        case .v6(let high, let low):
            state.absorb(high.byteSwapped, rounds: 2)
            state.absorb(low.byteSwapped, rounds: 2)
            state.absorb(32 << 56, rounds: 2)
        }
        return state.finish(rounds: 4).byteSwapped
    }
}
