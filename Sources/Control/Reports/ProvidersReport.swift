// `providers`: the numbers of `stats` as a table with one row per provider and nameserver, and details below each row.

import DNSWire

package struct ProvidersReport: Report, Codable, Equatable {
    package var providers: [StatsReport.Provider]
    /// The nameservers; nil if there are none.
    package var nameservers: [StatsReport.Provider]?

    package init(_ providers: [StatsReport.Provider], nameservers: [StatsReport.Provider] = []) {
        self.providers = providers
        self.nameservers = nameservers.isEmpty ? nil : nameservers
    }
}

extension ProvidersReport {
    package var text: String {
        guard !providers.isEmpty else { return "no providers\n" }
        let rows = providers + (nameservers ?? [])
        let lines = LineFormat.aligned([ProvidersReport.titles] + rows.map(\.columns))
        let details = [[]] + rows.map(\.details)
        return zip(lines, details).map { line, details in "\(line)\n" + details.map { "  \($0)\n" }.joined() }.joined()
    }

    private static let titles = [
        "name", "dialect", "state", "share", "p50", "p95", "success", "requests", "names",
        "connections open/opened/reused/retried",
    ]
}

extension StatsReport.Provider {
    fileprivate var columns: [String] {
        // Without a success or a failure there is no latency.
        let isMeasured = success != nil
        return [
            name, dialect, retrySeconds.map { "\(state) \(LineFormat.span(seconds: $0))" } ?? state,
            share.map(LineFormat.percent) ?? "-", isMeasured ? "\(latencyMilliseconds.p50) ms" : "-",
            isMeasured ? "\(latencyMilliseconds.p95) ms" : "-", success.map(LineFormat.percent) ?? "-",
            LineFormat.grouped(requests), LineFormat.grouped(names),
            [connections.open, connections.opened, connections.reused, connections.retried]
                .map(String.init).joined(separator: "/"),
        ]
    }

    fileprivate var details: [String] {
        var lines: [String] = []
        if !addresses.isEmpty {
            lines.append("addresses " + addresses.map { "\($0.name) \($0.state)" }.joined(separator: ", "))
        }
        if !failures.isEmpty {
            lines.append("failures " + LineFormat.words(failures).joined(separator: ", "))
        }
        if let blocks, filters == true || blocks > 0 {
            lines.append((filters == true ? "filters: " : "") + "blocked names \(counted(blocks, "time", "times"))")
        }
        if divergences > 0 {
            let times = counted(divergences, "time", "times")
            lines.append(
                "returned mismatched addresses \(times), see evidence; credibility \(LineFormat.percent(trust))")
        }
        if contradictions > 0 {
            lines.append("contradicted expect of a rule \(counted(contradictions, "time", "times")), see evidence")
        }
        if clockOffsetMilliseconds != 0 {
            let side = clockOffsetMilliseconds > 0 ? "ahead of" : "behind"
            lines.append("clock \(abs(clockOffsetMilliseconds)) ms \(side) the local clock")
        }
        if let keyExchange {
            lines.append("key exchange \(keyExchange)" + (keyExchange.contains("MLKEM") ? ", post-quantum" : ""))
        }
        if usesProxy { lines.append("uses a proxy") }
        if let billed { lines += billed.lines }
        if let shadow { lines.append(shadow.line) }
        return lines
    }
}

extension StatsReport.Provider.Billed {
    fileprivate var lines: [String] {
        let byFleet = fleet.map { " by the fleet (\(LineFormat.grouped($0)))" } ?? ""
        let used = quotaShare.map { ", \(LineFormat.percent($0)) used\(byFleet)" } ?? ""
        return ["billed today \(words(day)); this month \(words(month))"]
            + (quota.map { ["quota \($0)\(used)"] } ?? [])
    }

    private func words(_ counts: [String: Int]) -> String {
        let causes = LineFormat.words(counts.filter { $0.value > 0 }).joined(separator: ", ")
        return LineFormat.grouped(counts.values.reduce(0, +)) + (causes.isEmpty ? "" : " (\(causes))")
    }
}

extension StatsReport.Provider.Shadow {
    fileprivate var line: String {
        "shadow requests \(asked): same \(same), overlapping \(overlapping), different \(different), failed \(failed)"
    }
}
