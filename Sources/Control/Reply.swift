// What goes back over the control socket, as text for people or as one line of JSON.

import FoundationEssentials

package enum Reply: Sendable {
    case status(StatusReport)
    case stats(StatsReport)
    /// So many entries of the cache were.
    case removed(Int)
    /// So many names will be resolved.
    case prefetching(Int)
    case help
    case refusal(Refusal)

    /// Ends with a newline; as JSON it is one line with its keys in order.
    package func rendered(asJSON: Bool) -> String {
        switch self {
        case .status(let report): asJSON ? json(report) : report.text
        case .stats(let report): asJSON ? json(report) : report.text
        case .removed(let count): asJSON ? json(["removed": count]) : "removed \(counted(count, "entry", "entries"))\n"
        case .prefetching(let count): asJSON ? json(["names": count]) : "fetching \(counted(count, "name", "names"))\n"
        case .help: asJSON ? json(["commands": Command.Word.allCases.map(\.rawValue)]) : Reply.helpText
        case .refusal(let refusal): asJSON ? json(["error": refusal.reason]) : "error: \(refusal.reason)\n"
        }
    }

    /// True for an answer that `refusal` rendered.
    package static func isRefusal(_ answer: some Collection<UInt8>) -> Bool {
        answer.starts(with: "error: ".utf8) || answer.starts(with: "{\"error\":".utf8)
    }

    private static let helpText = """
        status                               version, listeners, providers and cache in a few lines
        stats                                every counter
        cache ls [NAME]                      entries of the cache: name, type, state, TTL left, provenance, code
        cache get NAME [TYPE]                everything about the entries of a name
        cache dump                           the records of every entry
        flush [--tree] [--type TYPE] NAME    removes the entries of a name, with --tree all under it, too
        flush --all                          removes every entry
        prefetch NAME...                     resolves up to 100 names, so that the cache has them
        help                                 this list
        Each takes --json, and may come as JSON: {"command":"flush","name":"www.example.com","tree":true}
        flush and prefetch are for root and for the user and group of the daemon.

        """
}

func counted(_ count: Int, _ one: String, _ many: String) -> String { "\(count) \(count == 1 ? one : many)" }

/// Reports hold numbers and strings only, so that encoding cannot fail; should it, the client is told.
func json(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return "{\"error\":\"the report cannot be written\"}\n" }
    return String(decoding: data, as: UTF8.self) + "\n"
}
