// When so many clients get failures that the flight recorder is worth keeping. A value: counts come in, a decision
// comes out.

import LinuxIO

struct FailureBurst {
    static let window: Duration = .seconds(10)
    /// Less may be one client with one broken name.
    static let minAnswers: UInt64 = 50
    /// Between two files: the second one would show what came of the first trouble, not the beginning.
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

    /// - Parameters: of clients, since the start.
    /// - Returns: true when at least half of the answers in the window, and enough of them, were failures. What came
    ///   since a longer silence counts as if it were within.
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
        if let lastAt, lastAt + FailureBurst.pause > counts.at { return false }
        lastAt = counts.at
        return true
    }
}
