// What goes back over the control socket, as text for people or as one line of JSON.

import FoundationEssentials

package enum Reply: Sendable {
    case status(StatusReport)
    case stats(StatsReport)
    /// As Prometheus reads them, however they were asked for.
    case metrics(StatsReport)
    /// As the page for people reads them, which is JSON only.
    case figures(FiguresReport)
    /// So many entries of the cache were.
    case removed(Int)
    /// So many names will be resolved.
    case prefetching(Int)
    /// Off; nil: on.
    case switched(SwitchReport?)
    case providers(ProvidersReport)
    /// What was measured of so many providers is forgotten.
    case reset(Int)
    case network(NetworkReport)
    case networkHistory(NetworkHistoryReport)
    case explanation(ExplainReport)
    case inflight(InflightReport)
    case top(TopReport)
    case logLevel(LogLevelReport)
    case reloaded(ReloadReport)
    /// With the complaints about the settings.
    case notReloaded([String])
    /// About one command, or all of them.
    case help(Command.Word?)
    case refusal(Refusal)

    /// Ends with a newline; as JSON it is one line with its keys in order.
    package func rendered(asJSON: Bool) -> String {
        switch self {
        case .status(let report): asJSON ? json(report) : report.text
        case .stats(let report): asJSON ? json(report) : report.text
        case .metrics(let report): report.prometheus
        case .figures(let report): json(report)
        case .removed(let count): asJSON ? json(["removed": count]) : "removed \(counted(count, "entry", "entries"))\n"
        case .prefetching(let count): asJSON ? json(["names": count]) : "fetching \(counted(count, "name", "names"))\n"
        case .switched(let report):
            asJSON ? json(["switched": report]) : "httpdns is \(report?.text ?? "on")\n"
        case .providers(let report): asJSON ? json(report) : report.text
        case .reset(let count): asJSON ? json(["reset": count]) : "reset \(counted(count, "provider", "providers"))\n"
        case .network(let report): asJSON ? json(report) : report.text
        case .networkHistory(let report): asJSON ? json(report) : report.text
        case .explanation(let report): asJSON ? json(report) : report.text
        case .inflight(let report): asJSON ? json(report) : report.text
        case .top(let report): asJSON ? json(report) : report.text(since: nil)
        case .logLevel(let report): asJSON ? json(report) : report.text + "\n"
        case .reloaded(let report): asJSON ? json(report) : report.text + "\n"
        case .notReloaded(let complaints): Reply.notReloaded(complaints, asJSON: asJSON)
        case .help(let word): asJSON ? json(CommandGuide.report(word)) : CommandGuide.text(word)
        case .refusal(let refusal): asJSON ? json(["error": refusal.reason]) : "error: \(refusal.reason)\n"
        }
    }

    /// True for an answer that `refusal` rendered, and for one that says in the same place what went wrong.
    package static func isRefusal(_ answer: some Collection<UInt8>) -> Bool {
        if answer.starts(with: "error: ".utf8) || answer.starts(with: "{\"error\":".utf8) { return true }
        // Of others only the report of a query has it.
        guard answer.starts(with: "{\"ede\":".utf8) else { return false }
        return (decoded(String(decoding: answer, as: UTF8.self)) as QueryReport?)?.error != nil
    }

    /// A refusal is known by its last line.
    private static func notReloaded(_ complaints: [String], asJSON: Bool) -> String {
        let reason = "settings not reloaded, the old ones stay in force"
        guard !asJSON else { return json(NotReloaded(error: reason, findings: complaints)) }
        return complaints.map { $0.shown(maxBytes: maxComplaintBytes) + "\n" }.joined() + "error: \(reason)\n"
    }

    /// A path, and a piece of the file.
    private static let maxComplaintBytes = 4096

    private struct NotReloaded: Encodable {
        let error: String
        let findings: [String]
    }
}

/// Nil for what is not of this form.
func decoded<Value: Decodable>(_ text: String) -> Value? {
    try? JSONDecoder().decode(Value.self, from: Data(text.utf8))
}

func counted(_ count: Int, _ one: String, _ many: String) -> String { "\(count) \(count == 1 ? one : many)" }

/// Reports hold numbers and strings only, so that encoding cannot fail; should it, the client is told.
func json(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    // A share of nothing is no reason to show nothing.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
        positiveInfinity: "infinite", negativeInfinity: "-infinite", nan: "none")
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return "{\"error\":\"the report cannot be written\"}\n" }
    return String(decoding: data, as: UTF8.self) + "\n"
}
