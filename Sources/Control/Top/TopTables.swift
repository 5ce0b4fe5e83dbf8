// The tables of `top`: providers, the most queried names, and other counters if there is room.

enum TopTables {
    static func providers(_ report: TopReport, _ rates: TopRates) -> [StyledLine] {
        let rows = report.stats.providers.map { provider in
            [
                provider.name, provider.dialect, provider.state, provider.share.map(LineFormat.percent) ?? "-",
                provider.success == nil ? "-" : "\(provider.latencyMilliseconds.p50) ms",
                provider.success == nil ? "-" : "\(provider.latencyMilliseconds.p95) ms",
                provider.success.map(LineFormat.percent) ?? "-", TopRates.text(rates.requests(of: provider)),
            ]
        }
        let system = [
            "system", "dns", report.stats.figures["system.servers"]?.list.isEmpty == false ? "-" : "none", "-", "-",
            "-", "-",
            TopRates.text(rates.perSecond { $0["system.requests"] }),
        ]
        let titles = ["provider", "dialect", "state", "share", "p50", "p95", "success", "requests/s"]
        let lines = aligned([titles] + rows + [system])
        let states = report.stats.providers.map(\.state)
        return zip(lines, 0...).map { line, row in
            guard row > 0, row <= states.count else { return StyledLine(line, row == 0 ? .title : .plain) }
            return StyledLine(line, style(of: states[row - 1]))
        }
    }

    static func names(_ report: TopReport) -> [StyledLine] {
        let titles = ["queries/s", "type", "name"]
        guard !report.hottest.isEmpty else { return [StyledLine("queries/s  no queries", .title)] }
        let rows = report.hottest.map { [toTheRight(rate($0.perSecond)), $0.type, $0.name] }
        return zip(aligned([titles] + rows), 0...).map { StyledLine($0, $1 == 0 ? .title : .plain) }
    }

    /// Counters by kind: response codes, drops, stale causes and failures.
    static func counts(_ report: TopReport, _ rates: TopRates) -> [StyledLine] {
        let kinds: [(String, (StatsReport) -> [String: Int])] = [
            ("code", { $0[group: "rcodes"] }), ("dropped", { $0[group: "dropped"] }), ("stale", { $0[group: "stale"] }),
            ("failed", { $0.failures }),
        ]
        let rows = kinds.flatMap { kind, counts in
            LineFormat.largestFirst(counts(report.stats).filter { $0.value > 0 })
                .map { name, count in
                    [
                        kind, toTheRight(rate(rates.perSecond { counts($0)[name] ?? 0 })),
                        toTheRight(LineFormat.grouped(count)), name,
                    ]
                }
        }
        let titles = ["counter", toTheRight("/s"), toTheRight("total"), "label"]
        return zip(aligned([titles] + rows), 0...).map { StyledLine($0, $1 == 0 ? .title : .plain) }
    }

    /// A small rate is shown as "<0.1" to distinguish it from zero.
    private static func rate(_ perSecond: Double) -> String {
        perSecond > 0 && perSecond < 0.05 ? "<0.1" : TopRates.text(perSecond)
    }

    private static func toTheRight(_ cell: String) -> String {
        String(repeating: " ", count: max(0, numberWidth - cell.count)) + cell
    }

    /// Width of a number: fits "asked/s", and numbers below a million.
    private static let numberWidth = 7

    /// Truncates to `count` lines; the last line says how many lines are missing.
    static func fit(_ lines: [StyledLine], _ count: Int) -> [StyledLine] {
        guard lines.count > count else { return lines }
        guard count > 1 else { return [] }
        return lines.prefix(count - 1) + [StyledLine("... and \(lines.count - count + 1) more", .quiet)]
    }

    /// Cells are escaped first, so that their length is their width on the screen.
    private static func aligned(_ rows: [[String]]) -> [String] {
        LineFormat.aligned(rows.map { $0.map { $0.unicodeScalars.map { $0.escaped(asASCII: true) }.joined() } })
    }

    private static func style(of state: String) -> StyledLine.Style {
        switch state {
        case "up": .good
        case "down", "blocked", "unresolved": .bad
        case "unmeasured": .quiet
        default: .doubtful
        }
    }
}

extension StatsReport {
    /// Failed requests, by provider and kind.
    fileprivate var failures: [String: Int] {
        let all = self.providers.flatMap { provider in
            provider.failures.map { ("\(provider.name) \($0.key)", $0.value) }
        }
        return Dictionary(all) { $0 + $1 }
    }
}
