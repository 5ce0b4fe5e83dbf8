// When so many clients get failures that the flight recorder is worth keeping. A value: counts come in, a decision
// comes out.

import LinuxIO

struct FailureBurst {
    static let window: Duration = .seconds(10)
    /// Less may be one client with one broken name.
    static let minAnswers: UInt64 = 50
    /// Between two files at least. A trouble that goes on is written once, however long it takes: a second file would
    /// show what came of it, not the beginning.
    static let pause: Duration = .seconds(600)
    private static let step: Duration = .seconds(1)

    private struct Counts {
        let at: Instant
        let answers: UInt64
        let failures: UInt64
    }

    /// A second and more apart. The first one is as old as the window or older, if there is one so old.
    private var seen: [Counts] = []
    private var lastAt: Instant?
    /// When so many were failures the last time.
    private var troubledAt: Instant?

    /// - Parameters: of clients, since the start: answers that needed an upstream, and those of them that are failures.
    ///   Hits would hide that nothing can be fetched any more.
    /// - Returns: true when at least half of the answers in the window, and enough of them, were failures, and it was
    ///   otherwise for as long before. What came since a longer silence counts as if it were within.
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
