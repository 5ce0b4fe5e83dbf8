// Records the statistics at regular times for the charts of the status page. It exists only with the HTTP listener, so
// that a daemon without it wakes up for nothing.

import Control
import DNSWire
import LinuxIO

final class StatisticsSampler: TimedPart {
    let timer = PartTimer()
    private let outbox: Outbox
    private(set) var history = StatisticsHistory()
    /// When the next sample is due: the first one at once, others at whole intervals since boot.
    private var dueAt = Instant.atOnce { didSet { timer.changed() } }

    init(_ outbox: Outbox) { self.outbox = outbox }

    var nextDeadline: Instant? { dueAt }

    func timePassed(now: Instant) {
        guard dueAt <= now else { return }
        outbox.changed(.statistics)
        let interval = StatisticsHistory.interval.nanoseconds
        dueAt = Instant(nanoseconds: (now.nanoseconds / interval + 1) * interval)
    }

    func record(_ statistics: Statistics, now: Instant) { history.record(statistics.stats, now: now) }
}
