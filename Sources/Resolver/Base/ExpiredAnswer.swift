// An expired answer that may be served, and why it is.

package import DNSWire

/// An expired answer, ready to be served stale. Immutable. A class for the reason of `AgedAnswer`.
package final class ExpiredAnswer: Equatable, Sendable {
    /// The answer with the TTLs of an expired answer.
    package let answer: RenderedAnswer
    package let extendedError: ExtendedError
    /// The stale limit. It may pass while upstreams are asked or the machine sleeps.
    let usableUntil: Instant
    let sourceRank: AgedAnswer.SourceRank

    init(
        answer: RenderedAnswer, extendedError: ExtendedError, usableUntil: Instant, sourceRank: AgedAnswer.SourceRank
    ) {
        self.answer = answer
        self.extendedError = extendedError
        self.usableUntil = usableUntil
        self.sourceRank = sourceRank
    }

    package static func == (one: ExpiredAnswer, other: ExpiredAnswer) -> Bool {
        one.answer == other.answer && one.extendedError == other.extendedError
            && one.usableUntil == other.usableUntil && one.sourceRank == other.sourceRank
    }

    /// - Parameter answer: with the TTLs of an expired answer.
    func with(_ answer: RenderedAnswer) -> ExpiredAnswer {
        ExpiredAnswer(answer: answer, extendedError: extendedError, usableUntil: usableUntil, sourceRank: sourceRank)
    }

    /// Returns the answer as it may be used after a network change; nil for system resolver answers and negative
    /// answers, which never cross networks.
    var onOtherNetwork: ExpiredAnswer? {
        guard sourceRank != .system, !answer.isNegative else { return nil }
        return ExpiredAnswer(
            answer: answer, extendedError: extendedError, usableUntil: usableUntil, sourceRank: .otherNetwork)
    }

    func cause(_ cause: StaleCause) -> StaleCause { sourceRank == .otherNetwork ? .otherNetwork : cause }
}

/// Reason for serving an expired answer. The raw values appear in statistics.
package enum StaleCause: String, Sendable, CaseIterable {
    /// No upstream had answered in time.
    case timeout
    /// No provider has replied to anything for a while, so that none was waited for.
    case unresponsive
    /// Every upstream had failed.
    case failure
    /// Every upstream failed a short while ago.
    case recheck
    /// An upstream denied the last known good answer, and a second one had not answered in time.
    case denied
    /// The client asked for the cache only (RD=0).
    case cacheOnly = "cache-only"
    /// The only answer was an expired one from another network's provider.
    case otherNetwork = "other-network"
}
