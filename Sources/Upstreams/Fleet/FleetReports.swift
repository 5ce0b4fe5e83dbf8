// The fleet in `stats`, `status` and `fleet`, and what other members are told about this one.

package import Control
package import DNSWire
import Fleet
import LinuxIO
import Settings

extension FleetLink {
    /// The fleet in `status`; nil without [fleet].
    package var status: StatusReport.Fleet? {
        guard let settings else { return nil }
        return StatusReport.Fleet(
            server: settings.servers[redis.server].description, site: settings.site ?? "",
            fault: redis.isInUse ? nil : redis.whyNotUsed)
    }

    /// The fleet in `stats`; nil without [fleet].
    package var statistics: StatsReport.Fleet? {
        guard isOn else { return nil }
        var report = StatsReport.Fleet()
        report.inUse = redis.isInUse ? 1 : 0
        report.trips = Int(redis.trips)
        report.answers = Int(counts.answers)
        report.awaited = Int(counts.awaited)
        report.made = Int(counts.made)
        report.leases = Int(counts.leases)
        report.endedLeases = Int(counts.endedLeases)
        report.deferred = Int(counts.deferred)
        report.members = size
        report.alone = Int(counts.alone)
        report.timeouts = Int(counts.timeouts)
        report.invalid = Int(counts.invalid)
        report.published = Int(published)
        report.unpublished = Int(unpublished)
        for (refusal, count) in refusals { report.refused[refusal.rawValue] = Int(count) }
        return report
    }

    /// Reports this member and those that Redis lists.
    ///
    /// - Parameter done: called at most once, maybe before this returns; not called without [fleet], or if Redis does
    ///   not reply.
    package func report(cacheEntries: Int, now: Instant, _ done: @escaping (FleetReport) -> Void) {
        guard redis.isInUse else {
            return ownReport(membersFault: whyNotUsed, cacheEntries: cacheEntries).map(done) ?? ()
        }
        readMembers(now: now) { [unowned self] records, redis in
            guard let own = own(cacheEntries), let status, let statistics else { return }
            // The records of other members are up to 10 s old.
            let others = records.filter { !$0.isThis }.compactMap { record -> FleetReport.Member? in
                var member = FleetReport.Member(record: record.record)
                member?.seenSeconds = Int(record.age.wholeSeconds)
                return member
            }
            var report = FleetReport(
                status, statistics, callMilliseconds: callTimes, members: [own] + others, membersFault: nil)
            report.membersInAll = redis.count
            (report.maxMemoryBytes, report.evictionPolicy) = (redis.maxMemoryBytes, redis.evictionPolicy)
            report.excessRights = redis.excessRights
            done(report)
        }
    }

    /// Reports the state that is known without Redis. Nil without [fleet].
    package func ownReport(membersFault: String?, cacheEntries: Int) -> FleetReport? {
        guard let own = own(cacheEntries), let status, let statistics else { return nil }
        return FleetReport(
            status, statistics, callMilliseconds: callTimes, members: [own], membersFault: membersFault)
    }

    /// This member's record for the other members.
    func record(cacheEntries: Int) -> [UInt8] { own(cacheEntries)?.record ?? [] }

    private func own(_ cacheEntries: Int) -> FleetReport.Member? {
        guard let settings, let host else { return nil }
        var own = FleetReport.Member(
            host, site: settings.site ?? "", version: programVersion, settings: fingerprint, isThis: true)
        own.uptimeSeconds = Int(startedAt.duration(to: Clock.now()).wholeSeconds)
        own.saved = Int(counts.answers + counts.awaited)
        (own.leases, own.alone) = (Int(counts.leases), Int(counts.alone))
        own.callMillisecondsP95 = callMilliseconds(95)
        own.entriesInCache = cacheEntries
        return own
    }

    private var callTimes: FleetReport.CallTimes? {
        guard let p50 = callMilliseconds(50), let p95 = callMilliseconds(95) else { return nil }
        return FleetReport.CallTimes(p50: p50, p95: p95)
    }
}
