// The fleet in `stats` and `status`.

import Control
import Fleet
import Settings

extension FleetLink {
    /// Nil without [fleet].
    var status: StatusReport.Fleet? {
        guard let settings else { return nil }
        return StatusReport.Fleet(
            server: settings.servers[redis.server].description, site: settings.site ?? "", fault: redis.fault)
    }

    /// Nil without [fleet].
    var statistics: StatsReport.Fleet? {
        guard isOn else { return nil }
        var report = StatsReport.Fleet()
        report.inUse = redis.isInUse ? 1 : 0
        report.trips = Int(redis.trips)
        report.answers = Int(counts.answers)
        report.awaited = Int(counts.awaited)
        report.leases = Int(counts.leases)
        report.endedLeases = Int(counts.endedLeases)
        report.putOff = Int(counts.putOff)
        report.members = size
        report.alone = Int(counts.alone)
        report.timeouts = Int(counts.timeouts)
        report.useless = Int(counts.useless)
        report.published = Int(published)
        report.unpublished = Int(unpublished)
        for (refusal, count) in refusals { report.refused[refusal.rawValue] = Int(count) }
        return report
    }
}
