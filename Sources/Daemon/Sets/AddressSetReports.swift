// Sets of nftables in `stats` and `status`.

import Control
import DNSWire
import SetFeed

extension AddressSets {
    /// The sets in `status`; nil without sets.
    var reports: [StatusReport.NFTSet]? {
        isOn ? sets.map { StatusReport.NFTSet(set: $0.description, fault: fault(of: $0)) } : nil
    }

    /// The sets in `stats`; nil without sets.
    var statistics: StatsReport.NFTSets? {
        guard isOn else { return nil }
        var report = StatsReport.NFTSets()
        report.added = Int(counts.added)
        report.failed = Int(counts.failed)
        report.dropped = Int(counts.dropped)
        report.requests = Int(counts.requests)
        report.refills = Int(refills)
        report.waiting = waitingCount
        for set in sets { report.ready[set.description] = isReady(set) ? 1 : 0 }
        return report
    }
}
