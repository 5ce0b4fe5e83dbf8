// DNS cookies (RFC 7873) in their interoperable form (RFC 9018): made and recognised. Holds no state of clients; the
// time is told.

import DNSWire

struct CookieKeys: Sendable {
    /// A key is in use for so long (RFC 9018 section 5); cookies that it has made are good until they are too old.
    private static let periodSeconds: UInt32 = 24 * 3600
    /// RFC 9018 section 4.3, as are the next two: older ones prove nothing,
    private static let maxAgeSeconds: Int32 = 3600
    /// and neither do those that are further in the future,
    private static let maxAheadSeconds: Int32 = 300
    /// and a client gets a new one in the place of one that is older than this.
    private static let renewedAfterSeconds: Int32 = 1800
    private static let version: UInt64 = 1

    typealias Key = (UInt64, UInt64)

    private let root: Key

    /// What a query says about who sent it.
    enum Proof: Equatable {
        case none
        /// To be answered with FORMERR (RFC 7873 section 5.2.2).
        case malformed
        /// The address may be forged; this is what the client needs to prove that it is not.
        case missing(Cookie, hadServerCookie: Bool)
        /// The client has received what we sent to this address; the reply has this.
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

    /// - Parameter root: random, never told to anybody.
    init(root: Key) {
        self.root = root
    }

    /// - Parameter seconds: of one clock for all calls; RFC 9018 has those since 1970, modulo 2^32.
    func proof(_ received: Cookie.Received?, from client: Address, seconds: UInt32) -> Proof {
        switch received {
        case nil: return .none
        case .malformed: return .malformed
        case .client(let cookie, let hasServerCookie):
            return .missing(fresh(for: cookie, client, seconds), hadServerCookie: hasServerCookie)
        case .full(let cookie):
            let made = UInt32(truncatingIfNeeded: cookie.stamp)
            // RFC 1982: a difference, so that the numbers may wrap.
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

    /// The key of the day, made of the root's: so every thread has it without asking another one, and the time in a
    /// cookie says which one it was made with.
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

    /// RFC 9018 section 4.4: SipHash-2-4 of client cookie, version, reserved bytes, timestamp and address; as the eight
    /// bytes in network order.
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
