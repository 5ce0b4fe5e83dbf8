// Reports of the current network and the network history for `status`, `network` and the statistics.

import Control
import DNSWire
import LinuxIO
import Network
import Resolver
import Upstreams

extension Statistics {
    /// The network in use; nil if the settings disable network watching.
    var currentNetwork: NetworkReport.Current? {
        guard let network else { return nil }
        let families = [("IPv4", network.reach.hasWayOut(.a)), ("IPv6", network.reach.hasWayOut(.aaaa))]
        let state: NetworkReport.State =
            if network.isChanging { .changing } else if !network.hasWayOut { .none } else { .stable }
        return NetworkReport.Current(
            id: network.hasWayOut ? network.id.description : "", words: network.identity.words, state: state,
            seconds: Int((network.lostAt ?? network.enteredAt).duration(to: now).wholeSeconds),
            families: families.filter(\.1).map(\.0), changes: Int(clamping: network.history.changeCount),
            lastRecoveryMilliseconds: network.history.lastRecovery?.wholeMilliseconds, portal: portal,
            nat64Prefix: nat64Prefix?.description, nameserverSource: nameserverSource)
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

    /// The search domains that the network announces.
    var searchDomains: [Name] { (network?.identity.searchDomains ?? []).compactMap { Name($0) } }

    var networkHistory: NetworkHistoryReport {
        NetworkHistoryReport(
            (network?.history.changes ?? []).reversed().map { change in
                NetworkHistoryReport.Change(
                    seconds: change.wallSeconds, id: change.id.description, words: change.words,
                    cause: change.cause.rawValue, recoveryMilliseconds: change.recovery?.wholeMilliseconds)
            })
    }
}

extension NetworkRecovery.Times: Figure {
    /// The histogram, with the median and the 95th percentile.
    var tree: StatsTree {
        let bounds = zip(NetworkRecovery.bounds, atMost).map { ("\($0.wholeMilliseconds)", $1.tree) }
        return .members([
            "count": count.tree, "sum": sum.wholeMilliseconds.tree,
            "p50": bound(ofShare: 0.50).wholeMilliseconds.tree, "p95": bound(ofShare: 0.95).wholeMilliseconds.tree,
            "at_most": .members(Dictionary(uniqueKeysWithValues: bounds)),
        ])
    }

    /// Returns the lowest histogram bound that covers this share of the recoveries, or the highest bound if none does.
    private func bound(ofShare share: Double) -> Duration {
        let index = atMost.firstIndex { Double($0) >= share * Double(count) } ?? NetworkRecovery.bounds.count - 1
        return NetworkRecovery.bounds[index]
    }
}
