// Records the statistics at regular times for the charts of the status page. It exists only with the HTTP listener, so
// that a daemon without it wakes up for nothing.

import Control
import DNSWire
import LinuxIO

final class StatisticsSampler: TimedPart {
    let timer = PartTimer()
    private let statistics: (Instant) -> Statistics
    private(set) var history = StatisticsHistory()
    /// When the next sample is due: the first one at once, others at whole intervals since boot.
    private var dueAt = Instant.atOnce { didSet { timer.changed() } }

    /// - Parameter statistics: returns the statistics of a moment.
    init(_ statistics: @escaping (Instant) -> Statistics) {
        self.statistics = statistics
    }

    var nextDeadline: Instant? { dueAt }

    func timePassed(now: Instant) {
        guard dueAt <= now else { return }
        history.record(statistics(now).stats, now: now)
        let interval = StatisticsHistory.interval.nanoseconds
        dueAt = Instant(nanoseconds: (now.nanoseconds / interval + 1) * interval)
    }
}
