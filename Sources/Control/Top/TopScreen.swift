// Renders two polls as the lines of `top`. The lines fit the width and height of the terminal.

package struct TopScreen {
    package struct Size: Equatable, Sendable {
        package let columns: Int
        /// The number of rows; nil: no limit.
        package let rows: Int?

        package init(columns: Int, rows: Int? = nil) {
            self.columns = columns
            self.rows = rows
        }
    }

    /// The width of output that is not a terminal.
    static let plainColumns = 100
    /// The width from which names are shown beside providers.
    private static let wideColumns = 150
    private static let labelWidth = 10

    private let report: TopReport
    private let rates: TopRates
    /// Why the values are outdated; replaces the last line.
    private let notice: String?

    package init(_ report: TopReport, since earlier: TopReport?, notice: String? = nil) {
        self.report = report
        self.notice = notice
        rates = TopRates(report, since: earlier)
    }

    package func lines(_ size: Size) -> [String] { drawn(size).map(\.plain) }

    package func painted(_ size: Size) -> [String] { drawn(size).map(\.painted) }

    private func drawn(_ size: Size) -> [StyledLine] {
        let head = [title] + rows.map(line) + [StyledLine()]
        let foot = size.rows == nil && notice == nil ? [] : [footer]
        let left = size.rows.map { max(0, $0 - head.count - foot.count) }
        let body = size.columns < TopScreen.wideColumns ? stacked(left) : besideEachOther(left, size.columns)
        var lines = head + body
        if let rows = size.rows {
            let room = max(0, rows - foot.count)
            lines = lines.prefix(room) + Array(repeating: StyledLine(), count: max(0, room - lines.count))
        }
        return (lines + foot).map { $0.cut(to: size.columns) }
    }

    // MARK: head

    private var title: StyledLine {
        var line = StyledLine("httpdnsd \(report.stats.figures["version"]?.text ?? "")", .title)
        line.append("  up \(LineFormat.uptime(seconds: report.stats["uptime_s"]))")
        line.append("  \(LineFormat.timeOfDay(secondsSince1970: Int(max(0, report.milliseconds) / 1000)))", .quiet)
        line.append(rates.isOfInterval ? "" : "  since the start", .quiet)
        return line
    }

    private func line(_ label: String, _ pieces: [(String, StyledLine.Style)]) -> StyledLine {
        var line = StyledLine(label + String(repeating: " ", count: TopScreen.labelWidth - label.count), .title)
        for piece in pieces { line.append(piece.0, piece.1) }
        return line
    }

    private var rows: [(String, [(String, StyledLine.Style)])] {
        let stats = report.stats
        let lost = rates.perSecond { $0.sum(["dropped"]) }
        var rows: [(String, [(String, StyledLine.Style)])] = [
            (
                "queries",
                [
                    ("\(TopRates.text(rates.perSecond { $0["queries.total"] }))/s", .plain),
                    ("  in flight \(LineFormat.grouped(stats["inflight"]))", .plain),
                    ("  dropped \(TopRates.text(lost))/s", lost > 0 ? .doubtful : .quiet),
                ]
            ),
            ("answers", spaced(rates.shares.map { ("\($0.name) \($0.share)", $0.style) })),
            (
                "cache",
                [
                    ("hits \(rates.hitShare ?? "-")", .plain),
                    ("  entries \(LineFormat.grouped(stats["cache.entries"]))", .plain),
                    ("  \(LineFormat.size(bytes: stats["cache.bytes"]))", .plain),
                    ("  refreshes \(TopRates.text(rates.perSecond { $0["prefetch.started"] }))/s", .plain),
                ]
            ),
            (
                "latency",
                spaced(rates.latencies.map { ("\($0.name) \($0.text)", .plain) }) + [("  p50/p95/p99", .quiet)]
            ),
            ("addresses", verdicts),
            ("network", network),
        ]
        if let portal = report.portal { rows.append(("portal", [(portal, .bad)])) }
        for off in report.switches.prefix(TopScreen.maxSwitches) { rows.append(("httpdns", [(off.text, .doubtful)])) }
        return rows
    }

    /// Maximum number of switches on the screen. The `status` command shows the others.
    private static let maxSwitches = 2

    private func spaced(_ pieces: [(String, StyledLine.Style)]) -> [(String, StyledLine.Style)] {
        pieces.enumerated().map { (($0.offset > 0 ? "  " : "") + $0.element.0, $0.element.1) }
    }

    private var verdicts: [(String, StyledLine.Style)] {
        let (verdicts, quarantined) = (report.stats[group: "probe.verdicts"], report.stats["probe.quarantined"])
        let known = LineFormat.words(verdicts.filter { $0.value > 0 })
        let kept = ("quarantined \(quarantined)", quarantined > 0 ? StyledLine.Style.bad : .quiet)
        return spaced(known.map { ($0, .plain) } + [kept])
    }

    private var network: [(String, StyledLine.Style)] {
        guard let network = report.network else { return [("not watched", .quiet)] }
        return [(network.line, network.state == .stable ? .plain : .doubtful)]
    }

    private var footer: StyledLine {
        guard let notice else { return StyledLine("q quits; rates and shares cover the last second", .quiet) }
        return StyledLine(notice, .bad)
    }

    // MARK: body

    /// Providers get the rows that names leave free, but at least half of the rows.
    private func stacked(_ rows: Int?) -> [StyledLine] {
        let tables = (providers: TopTables.providers(report, rates), names: TopTables.names(report))
        guard let rows else { return tables.providers + [StyledLine()] + tables.names }
        let forProviders = max(rows / 2, rows - 1 - tables.names.count)
        let providers = TopTables.fit(tables.providers, forProviders)
        return providers + [StyledLine()] + TopTables.fit(tables.names, max(0, rows - providers.count - 1))
    }

    private func besideEachOther(_ rows: Int?, _ columns: Int) -> [StyledLine] {
        let tables = TopTables.providers(report, rates) + [StyledLine()] + TopTables.counts(report, rates)
        let left = TopTables.fit(tables, rows ?? .max)
        let right = TopTables.fit(TopTables.names(report), rows ?? .max)
        let width = columns / 2
        return (0..<max(left.count, right.count)).map { row in
            (row < left.count ? left[row] : StyledLine()).cut(to: width - 2)
                .padded(to: width, then: row < right.count ? right[row] : StyledLine())
        }
    }
}

extension TopReport {
    /// The plain text since the start.
    package var text: String { text(since: nil) }

    /// Returns plain text for output that is not a terminal: the rates between two polls, or since the start.
    package func text(since earlier: TopReport?) -> String {
        let size = TopScreen.Size(columns: TopScreen.plainColumns)
        return TopScreen(self, since: earlier).lines(size).map { "\($0)\n" }.joined()
    }
}
