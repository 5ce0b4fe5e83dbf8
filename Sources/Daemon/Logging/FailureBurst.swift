// Decides when so many clients get failures that the flight recorder is saved. Pure: counts in, decision out.

import DNSWire
import LinuxIO

struct FailureBurst {
    static let window: Duration = .seconds(10)
    /// Minimum answers in the window. Fewer may be one client with one broken name.
    static let minAnswers: UInt64 = 50
    /// Minimum time between two files. A burst that lasts longer is written once: a second file would show its
    /// consequences rather than its beginning.
    static let pause: Duration = .seconds(600)
    private static let step: Duration = .seconds(1)

    private struct Counts {
        let at: Instant
        let answers: UInt64
        let failures: UInt64
    }

    /// Samples at least 1 s apart, oldest first. The first is at least as old as the window if such a sample exists.
    private var seen: [Counts] = []
    private var lastAt: Instant?
    /// When the share of failures last reached the threshold.
    private var troubledAt: Instant?

    /// Adds a sample of the counters.
    ///
    /// - Parameters:
    ///   - answers: client answers since the start that needed an upstream. Cache hits would hide an upstream outage.
    ///   - failures: the number of these answers that are failures.
    /// - Returns: true at the start of a burst: at least `minAnswers` answers came in the window and at least half of
    ///   them failed. It is false within `pause` of the last true, and if the threshold was reached within the last
    ///   window. After a gap between samples, all answers since the last sample count.
    mutating func counted(answers: UInt64, failures: UInt64, now: Instant) -> Bool {
        let counts = Counts(at: now, answers: answers, failures: failures)
        if let newest = seen.last, newest.at + FailureBurst.step > now {
            return isBurst(counts)
        }
        let isBurst = isBurst(counts)
        seen.append(counts)
        while seen.count > 1, seen[1].at + FailureBurst.window <= now { seen.removeFirst() }
        return isBurst
    }

    private mutating func isBurst(_ counts: Counts) -> Bool {
        guard let first = seen.first else { return false }
        let answers = counts.answers - first.answers
        let failures = counts.failures - first.failures
        guard answers >= FailureBurst.minAnswers, 2 * failures >= answers else { return false }
        let wasCalm = troubledAt.map { $0 + FailureBurst.window <= counts.at } ?? true
        troubledAt = counts.at
        if let lastAt, lastAt + FailureBurst.pause > counts.at { return false }
        guard wasCalm else { return false }
        lastAt = counts.at
        return true
    }
}
