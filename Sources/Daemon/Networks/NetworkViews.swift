// Reports of the current network and the network history for `status`, `network` and the statistics.

import Control
import DNSWire
import LinuxIO
import Network
import Resolver

extension Statistics {
    /// The network in use; nil if the settings disable network watching.
    var currentNetwork: NetworkReport.Current? {
        guard let network else { return nil }
        let families = [("IPv4", network.reach.hasWayOut(.a)), ("IPv6", network.reach.hasWayOut(.aaaa))]
        let state: NetworkReport.State =
            if network.isChanging { .unsettled } else if !network.hasWayOut { .none } else { .settled }
        return NetworkReport.Current(
            id: network.hasWayOut ? network.id.description : "", words: network.identity.words, state: state,
            seconds: Int((network.lostAt ?? network.enteredAt).duration(to: now).wholeSeconds),
            families: families.filter(\.1).map(\.0), changes: Int(clamping: network.history.changeCount),
            lastRecoveryMilliseconds: network.history.lastRecovery?.wholeMilliseconds, portal: portal,
            translation: translationPrefix?.description, nameserverSource: nameserverSource)
    }

    var networkReport: NetworkReport {
        let known = network?.history.known ?? []
        return NetworkReport(
            current: currentNetwork,
            known: known.map { other in
                NetworkReport.Known(
                    id: other.id.description, words: other.words, firstSeenSeconds: other.firstSeen,
                    lastSeenSeconds: other.id == network?.id ? nil : other.lastSeen, times: other.times,
                    carrier: other.carrier.prefixes.map(\.description))
            },
            exits: exits, carrier: network?.exits.carrier.prefixes.map(\.description) ?? [])
    }

    /// The addresses that providers reported, without those of providers that the settings no longer have.
    private var exits: [NetworkReport.Exit] {
        (network?.exits.current ?? []).compactMap { report in
            let provider = resolving.upstreams.providers.providers.first { $0.id.number == report.provider }
            return provider.map {
                NetworkReport.Exit(
                    address: report.address.description, provider: $0.name,
                    ageSeconds: Int(report.at.duration(to: now).wholeSeconds))
            }
        }
    }

    var networkHistory: NetworkHistoryReport {
        NetworkHistoryReport(
            (network?.history.changes ?? []).reversed().map { change in
                NetworkHistoryReport.Change(
                    seconds: change.wallSeconds, id: change.id.description, words: change.words,
                    cause: change.cause.rawValue, recoveryMilliseconds: change.recovery?.wholeMilliseconds)
            })
    }

    var networkStats: StatsReport.Network {
        var stats = StatsReport.Network()
        guard let network else { return stats }
        if network.hasWayOut { (stats.id, stats.kind) = (network.id.description, "\(network.identity.kind)") }
        stats.changes = Int(clamping: network.history.changeCount)
        stats.lastRecoveryMilliseconds = network.history.lastRecovery?.wholeMilliseconds ?? 0
        for cause in NetworkCause.allCases {
            stats.causes[cause.rawValue] = Int(clamping: network.history.countByCause[cause] ?? 0)
            let times = network.recovery.times(cause)
            guard times.count > 0 else { continue }
            var recovery = StatsReport.Network.Recovery()
            recovery.count = Int(clamping: times.count)
            recovery.p50 = times.bound(ofShare: 0.50).wholeMilliseconds
            recovery.p95 = times.bound(ofShare: 0.95).wholeMilliseconds
            recovery.sumMilliseconds = times.sum.wholeMilliseconds
            for (bound, count) in zip(NetworkRecovery.bounds, times.atMost) {
                recovery.atMost[String(bound.wholeMilliseconds)] = Int(clamping: count)
            }
            stats.recoveryMilliseconds[cause.rawValue] = recovery
        }
        return stats
    }
}

extension NetworkRecovery.Times {
    /// Returns the lowest histogram bound that covers this share of the recoveries, or the highest bound if none does.
    fileprivate func bound(ofShare share: Double) -> Duration {
        let index = atMost.firstIndex { Double($0) >= share * Double(count) } ?? NetworkRecovery.bounds.count - 1
        return NetworkRecovery.bounds[index]
    }
}
