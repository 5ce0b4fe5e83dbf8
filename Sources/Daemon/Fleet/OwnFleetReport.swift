// The fleet in `fleet`: this member alone.

import Control
import DNSWire
import LinuxIO

extension FleetLink {
    /// Reports this member and those that Redis lists.
    ///
    /// - Parameter done: called at most once, maybe before this returns; not called without [fleet], or if Redis does
    ///   not reply.
    func report(now: Instant, _ done: @escaping (FleetReport) -> Void) {
        if let report = ownReport(membersFault: nil, now: now) { done(report) }
    }

    /// Reports what is known without Redis. Nil without [fleet].
    func ownReport(membersFault: String?, now: Instant) -> FleetReport? {
        guard let status, let statistics else { return nil }
        var own = FleetReport.Member(
            Machine.hostName, site: status.site, version: programVersion, settings: nil, isThis: true)
        (own.saved, own.leases) = (statistics.answers + statistics.awaited, statistics.leases)
        own.alone = statistics.alone
        return FleetReport(status, statistics, callMilliseconds: nil, members: [own], membersFault: membersFault)
    }
}
