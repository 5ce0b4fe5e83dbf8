// The latest flushes of this member and of the fleet: answers that a provider gave before are not used.

package import DNSWire

package struct FlushAges: Sendable {
    private struct Flush {
        let scope: QuestionScope
        let at: Instant
    }

    /// The maximum number of flushes, as many as the stream of the fleet has.
    package static let maxCount = 1000
    /// No answer lives longer than this: the longest TTL that settings allow.
    private static let longestLife: Duration = .seconds(7 * 24 * 3600)

    /// The flushes in the order of their times, at most one for each scope.
    private var flushes: [Flush] = []
    /// Flushes before this time are not known any more: everything counts as flushed then.
    private var knownSince: Instant?

    package init() {}

    /// Adds a flush. With more than `maxCount`, the oldest flush is forgotten.
    package mutating func add(_ scope: QuestionScope, at instant: Instant, now: Instant) {
        flushes.removeAll { $0.at + FlushAges.longestLife <= now || $0.scope == scope && $0.at <= instant }
        guard !flushes.contains(where: { $0.scope == scope }) else { return }
        let place = flushes.firstIndex { $0.at > instant } ?? flushes.count
        flushes.insert(Flush(scope: scope, at: instant), at: place)
        if flushes.count > FlushAges.maxCount { forget(before: flushes.removeFirst().at) }
    }

    /// Flushes before this time may be missing.
    mutating func forget(before instant: Instant) { knownSince = max(knownSince ?? instant, instant) }

    /// Returns how long ago the question was flushed last; nil: it was not flushed.
    package func age(of question: Question, now: Instant) -> Duration? {
        let times = [flushes.last { $0.scope.contains(question) }?.at, knownSince]
        return times.compactMap(\.self).max().map { $0.duration(to: now) }
    }
}
