// How an answer ages, as one pure function: fresh, due for a refresh, expired but usable, gone. Cache, resolver and
// store ask here, so that they agree about every entry at every instant. Reads no clock.

package enum Freshness: Equatable, Sendable {
    case fresh
    /// Still fresh, and so near its end that a name in use is fetched anew.
    case due
    /// Expired; for the time in which no upstream answers (RFC 8767).
    case stale
    /// Not to be used any more.
    case gone

    /// How long, and which, expired answers may be used.
    package struct Limits: Equatable, Sendable {
        /// Counted from the expiry; 0: never. RFC 8767 section 5 suggests 1 to 3 days.
        package let maxAgeSeconds: UInt32
        /// An expired "no such name" or "no data" stops a program that an expired address would keep alive; so it is
        /// usable only where the operator says so.
        package let allowsNegative: Bool

        package init(maxAgeSeconds: UInt32, allowsNegative: Bool = false) {
            self.maxAgeSeconds = maxAgeSeconds
            self.allowsNegative = allowsNegative
        }
    }

    /// - Parameters:
    ///   - ageMilliseconds: since the answer was learned.
    ///   - lifetimeSeconds: its TTL then (RFC 2308 section 5 for negative answers).
    package init(ageMilliseconds: Int64, lifetimeSeconds: UInt32, isNegative: Bool, limits: Limits) {
        let left = Int64(lifetimeSeconds) * 1000 - ageMilliseconds
        if left > Freshness.leadMilliseconds(lifetimeSeconds) {
            self = .fresh
        } else if left > 0 {
            self = .due
        } else if -left < Int64(limits.maxAgeSeconds) * 1000, !isNegative || limits.allowsNegative {
            self = .stale
        } else {
            self = .gone
        }
    }

    /// How long before its expiry an answer is due: a twenty-fifth of its life, but 0.25 to 1 s, which is enough to ask
    /// an upstream and then another; and a fiftieth where that is more. Whatever is refreshed earlier costs requests.
    package static func leadMilliseconds(_ lifetimeSeconds: UInt32) -> Int64 {
        let lifetime = Int64(lifetimeSeconds) * 1000
        return max(min(max(lifetime / 25, 250), 1000), lifetime / 50)
    }
}

/// An answer with its age.
package struct AgedAnswer: Equatable, Sendable {
    package enum Origin: Sendable {
        case provider
        case system
        /// A provider on another network than the one in use.
        case otherNetwork
    }

    package let answer: RenderedAnswer
    package let ageMilliseconds: Int64
    package let lifetimeSeconds: UInt32
    package let origin: Origin

    package init(
        _ answer: RenderedAnswer, ageMilliseconds: Int64, lifetimeSeconds: UInt32, origin: Origin = .provider
    ) {
        self.answer = answer
        self.ageMilliseconds = ageMilliseconds
        self.lifetimeSeconds = lifetimeSeconds
        self.origin = origin
    }

    package func freshness(_ limits: Freshness.Limits) -> Freshness {
        Freshness(
            ageMilliseconds: ageMilliseconds, lifetimeSeconds: lifetimeSeconds, isNegative: answer.isNegative,
            limits: limits)
    }

    /// It may be given when no upstream answers. Of another network any age does, as none of its answers is one here;
    /// but no "no", whatever the limits say, and nothing where they allow no expired answer.
    package func isUsable(_ limits: Freshness.Limits) -> Bool {
        let freshness = freshness(limits)
        guard origin == .otherNetwork else { return freshness == .stale }
        return freshness != .gone && !answer.isNegative && limits.maxAgeSeconds > 0
    }
}
