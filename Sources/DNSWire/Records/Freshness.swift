// The state of an answer by its age: fresh, due for a refresh, stale or gone. Cache, resolver and store share this
// function, so they always agree. Reads no clock.

package enum Freshness: Equatable, Sendable {
    case fresh
    /// Fresh, but close to expiry: names in use are refreshed now.
    case due
    /// Expired; usable if no upstream answers (RFC 8767).
    case stale
    /// No longer usable.
    case gone

    /// Limits for the use of expired answers.
    package struct Limits: Equatable, Sendable {
        /// Maximum time after the expiry; 0 disables stale answers. RFC 8767 section 5 suggests 1 to 3 days.
        package let maxAgeSeconds: UInt32
        /// A stale negative answer breaks a program that a stale address would keep working. So it requires the
        /// operator's permission.
        package let allowsNegative: Bool

        package init(maxAgeSeconds: UInt32, allowsNegative: Bool = false) {
            self.maxAgeSeconds = maxAgeSeconds
            self.allowsNegative = allowsNegative
        }
    }

    /// - Parameters:
    ///   - ageMilliseconds: time since the answer was received.
    ///   - lifetimeSeconds: the answer's original TTL (RFC 2308 section 5 for negative answers).
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

    /// Returns how long before its expiry an answer is due: 1/25 of its TTL, at least 0.25 s and at most 1 s, or 1/50
    /// if that is more. This is enough to ask two upstreams in turn. A longer lead would cost requests.
    package static func leadMilliseconds(_ lifetimeSeconds: UInt32) -> Int64 {
        let lifetime = Int64(lifetimeSeconds) * 1000
        return max(min(max(lifetime / 25, 250), 1000), lifetime / 50)
    }
}

/// An answer with its age. Immutable. A class, because most questions pass a missing answer from function to function.
package final class AgedAnswer: Equatable, Sendable {
    /// What decides how the answer ranks among others.
    package enum SourceRank: Sendable {
        case provider
        case system
        /// A provider on another network than the current one.
        case otherNetwork
    }

    package let answer: RenderedAnswer
    package let ageMilliseconds: Int64
    package let lifetimeSeconds: UInt32
    package let sourceRank: SourceRank

    package init(
        _ answer: RenderedAnswer, ageMilliseconds: Int64, lifetimeSeconds: UInt32, sourceRank: SourceRank = .provider
    ) {
        self.answer = answer
        self.ageMilliseconds = ageMilliseconds
        self.lifetimeSeconds = lifetimeSeconds
        self.sourceRank = sourceRank
    }

    package static func == (one: AgedAnswer, other: AgedAnswer) -> Bool {
        one.answer == other.answer && one.ageMilliseconds == other.ageMilliseconds
            && one.lifetimeSeconds == other.lifetimeSeconds && one.sourceRank == other.sourceRank
    }

    package func freshness(_ limits: Freshness.Limits) -> Freshness {
        Freshness(
            ageMilliseconds: ageMilliseconds, lifetimeSeconds: lifetimeSeconds, isNegative: answer.isNegative,
            limits: limits)
    }

    /// Returns true if the answer may be served when no upstream answers. From another network, a positive answer of
    /// any age is usable, unless the limits disable stale answers. A negative one never is.
    package func isUsable(_ limits: Freshness.Limits) -> Bool {
        let freshness = freshness(limits)
        guard sourceRank == .otherNetwork else { return freshness == .stale }
        return freshness != .gone && !answer.isNegative && limits.maxAgeSeconds > 0
    }
}
