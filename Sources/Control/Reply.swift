// What goes back over the control socket, as text for people or as one line of JSON.

import FoundationEssentials

package enum Reply: Sendable {
    case status(StatusReport)
    case stats(StatsReport)
    case help
    case refusal(Refusal)

    /// Ends with a newline; as JSON it is one line with its keys in order.
    package func rendered(asJSON: Bool) -> String {
        switch self {
        case .status(let report): asJSON ? json(report) : report.text
        case .stats(let report): asJSON ? json(report) : report.text
        case .help: asJSON ? json(["commands": Command.allCases.map(\.rawValue)]) : Reply.helpText
        case .refusal(let refusal): asJSON ? json(["error": refusal.reason]) : "error: \(refusal.reason)\n"
        }
    }

    /// True for an answer that `refusal` rendered.
    package static func isRefusal(_ answer: some Collection<UInt8>) -> Bool {
        answer.starts(with: "error: ".utf8) || answer.starts(with: "{\"error\":".utf8)
    }

    private static let helpText = """
        status  version, listeners, providers and cache in a few lines
        stats   every counter
        help    this list
        Each takes --json; {"command":"stats"} asks for the same.

        """
}

/// Reports hold numbers and strings only, so that encoding cannot fail; should it, the client is told.
func json(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return "{\"error\":\"the report cannot be written\"}\n" }
    return String(decoding: data, as: UTF8.self) + "\n"
}
