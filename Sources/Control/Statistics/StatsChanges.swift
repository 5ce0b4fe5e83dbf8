// The counters that changed between two polls of `stats`, by their names in its text. Used by `stats --watch`.

import DNSWire

package struct StatsChanges: Equatable, Sendable {
    private let counters: [String: Int]
    private let uptimeSeconds: Int
    private let questions: Int

    /// Reads one answer to `stats --json`. Nil for any other text.
    package init?(json: [UInt8]) {
        let text = String(decoding: json, as: UTF8.self)
        guard let lines = StatsReport.lines(ofJSON: text), text.hasPrefix("{") else { return nil }
        let numbers = lines.compactMap { line in Int(line.value).map { (line.name, $0) } }
        let known = Dictionary(numbers) { first, _ in first }
        uptimeSeconds = known["uptime_s"] ?? 0
        questions = known["queries.total"] ?? 0
        counters = Dictionary(numbers.filter { StatsChanges.isCounter($0.0) }) { first, _ in first }
    }

    /// Whether a number is a counter. Excludes percentiles, and values that grow with time, since these have no rate.
    private static func isCounter(_ name: String) -> Bool {
        let others = ["latency_us.", "process.", "uptime_s", "schema", "version"]
        return !others.contains { name.hasPrefix($0) } && !name.contains("latency_ms.") && !name.hasSuffix("_ms")
            && !name.contains("durations.")
    }

    /// Whether the daemon was restarted between the polls, so that the counters cannot be compared.
    package func hasBegunAnew(since earlier: StatsChanges) -> Bool {
        uptimeSeconds < earlier.uptimeSeconds || questions < earlier.questions
    }

    /// Returns the counters that differ, sorted by name.
    ///
    /// - Parameter seconds: the time between the two polls, more than 0.
    package func since(_ earlier: StatsChanges, seconds: Double) -> [StatsChange] {
        counters.sorted { $0.key < $1.key }.compactMap { name, value in
            let change = value - (earlier.counters[name] ?? 0)
            guard change != 0 else { return nil }
            return StatsChange(name: name, value: value, change: change, perSecond: Double(change) / seconds)
        }
    }
}

package struct StatsChange: Codable, Equatable, Sendable {
    package let name: String
    package let value: Int
    package let change: Int
    package let perSecond: Double

    package enum CodingKeys: String, CodingKey {
        case name, value, change
        case perSecond = "per_second"
    }

    /// Formats the changes as lines below a time.
    package static func text(_ changes: [StatsChange], at milliseconds: Int64) -> String {
        let time = LineFormat.timeOfDay(secondsSince1970: Int(max(0, milliseconds) / 1000))
        let rows = changes.map { change in
            let sign = change.change < 0 ? "-" : "+"
            return [
                "  " + change.name.shown(maxBytes: maxNameBytes), sign + LineFormat.grouped(abs(change.change)),
                "\(sign)\(TopRates.text(abs(change.perSecond)))/s", LineFormat.grouped(change.value),
            ]
        }
        return ([rows.isEmpty ? "\(time)  nothing" : time] + LineFormat.aligned(rows)).map { "\($0)\n" }.joined()
    }

    /// Formats the changes as one JSON object on a line.
    package static func object(_ changes: [StatsChange], at milliseconds: Int64) -> String {
        json(Look(milliseconds: milliseconds, changes: changes))
    }

    /// Maximum size of a name. Some names contain the name of a provider.
    private static let maxNameBytes = 200

    private struct Look: Encodable {
        let milliseconds: Int64
        let changes: [StatsChange]

        enum CodingKeys: String, CodingKey {
            case changes
            case milliseconds = "time_ms"
        }
    }
}
