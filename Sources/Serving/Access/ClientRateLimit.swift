// Rate limit and cookie check for UDP clients of other machines. Loopback clients bypass it; programs of this machine
// that query its LAN address do not. One instance for all threads, of fixed size.

import DNSWire

package final class ClientRateLimit: Sendable {
    /// Bound on all replies, as a multiple of the limit: more than retries add, and cheap to send. Replies over the
    /// limit are short and lead a legitimate client to TCP; a flood gets no reply at all.
    static let softShare = 4
    /// Factor for a client that has proven its address. The client receives the replies itself, but a program in a loop
    /// must not starve the others.
    static let provenShare = 4

    /// Queries per second; nil: unlimited.
    package struct Rates: Equatable, Sendable {
        /// Queries from one address.
        package var client: Int?
        /// Queries from one /24 (IPv4) or /56 (IPv6) together.
        package var prefix: Int?

        package init(client: Int?, prefix: Int?) {
            self.client = client
            self.prefix = prefix
        }
    }

    enum Verdict: Equatable {
        case admitted
        /// The client is over the limit and gets a short reply.
        case over
        /// The client is far over the limit and gets no reply.
        case farOver
    }

    private struct Limit {
        let meter: RateMeter
        let softMeter: RateMeter

        init(perSecond: Int) {
            meter = RateMeter(perSecond: perSecond)
            softMeter = RateMeter(perSecond: perSecond * (ClientRateLimit.softShare - 1))
        }

        func judge(_ hash: UInt64, now: UInt64) -> Verdict {
            if meter.admits(hash, now: now) { return .admitted }
            return softMeter.admits(hash, now: now) ? .over : .farOver
        }
    }

    /// Proven addresses have separate counters, so that forged queries do not use up the address owner's share.
    private struct Limits {
        let client: Limit?
        let prefix: Limit?

        init(_ rates: Rates, times factor: Int) {
            client = rates.client.map { Limit(perSecond: $0 * factor) }
            prefix = rates.prefix.map { Limit(perSecond: $0 * factor) }
        }
    }

    private let claimed: Limits
    private let proven: Limits
    /// Limits of clients that `allow` excludes; they take no room in the other meters.
    private let strangers: Limits
    private let seed: (UInt64, UInt64)
    private let keys: CookieKeys
    private let secondsAtBoot: Int64

    /// - Parameters:
    ///   - seed: random; keeps senders from choosing addresses that collide.
    ///   - cookieSecret: random bits.
    ///   - secondsAtBoot: wall clock of the boot, in seconds since 1970, as read at the start. It is not read again, so
    ///     that a clock step does not invalidate cookies.
    package init(
        _ rates: Rates, seed: (UInt64, UInt64), cookieSecret: (UInt64, UInt64), secondsAtBoot: Int64
    ) {
        claimed = Limits(rates, times: 1)
        proven = Limits(rates, times: ClientRateLimit.provenShare)
        strangers = Limits(rates, times: 1)
        self.seed = seed
        keys = CookieKeys(root: cookieSecret)
        self.secondsAtBoot = secondsAtBoot
    }

    func proof(
        of query: Query, in packet: Span<UInt8>, from client: Address, nowMilliseconds: Int64
    ) -> CookieKeys.Proof {
        guard let place = query.edns?.cookie else { return .none }
        let seconds = UInt32(truncatingIfNeeded: secondsAtBoot + nowMilliseconds / 1000)
        return keys.proof(Cookie.read(place, in: packet), from: client.mapped ?? client, seconds: seconds)
    }

    /// Counts one query. A client over its own limit does not use up its prefix's share.
    func judge(_ client: Address, isAllowed: Bool, isProven: Bool, nowMilliseconds: Int64) -> Verdict {
        let limits = !isAllowed ? strangers : isProven ? proven : claimed
        let now = UInt64(max(0, nowMilliseconds)) * 1_000_000
        let address = ClientRateLimit.words(client.mapped ?? client)
        if let verdict = limits.client?.judge(hash(address, tag: 0), now: now), verdict != .admitted { return verdict }
        let prefix = AggregatePrefix(of: client)
        return limits.prefix?.judge(hash((prefix.isIPv6 ? 1 : 0, prefix.bits), tag: 1), now: now) ?? .admitted
    }

    /// IPv4 addresses map to `::ffff:0:0/96`, so that the families stay apart.
    private static func words(_ client: Address) -> (UInt64, UInt64) {
        switch client {
        case .v4(let value): (0, 0xFFFF << 32 | UInt64(value))
        case .v6(let high, let low): (high, low)
        }
    }

    private func hash(_ words: (UInt64, UInt64), tag: UInt64) -> UInt64 {
        var state = SipState(seed)
        state.absorb(words.0)
        state.absorb(words.1)
        state.absorb(tag)
        return state.finish()
    }
}
