// What goes back over the control socket, as text for people or as one line of JSON.

import FoundationEssentials

package enum Reply: Sendable {
    case status(StatusReport)
    case stats(StatsReport)
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
    case help
    case refusal(Refusal)

    /// Ends with a newline; as JSON it is one line with its keys in order.
    package func rendered(asJSON: Bool) -> String {
        switch self {
        case .status(let report): asJSON ? json(report) : report.text
        case .stats(let report): asJSON ? json(report) : report.text
        case .removed(let count): asJSON ? json(["removed": count]) : "removed \(counted(count, "entry", "entries"))\n"
        case .prefetching(let count): asJSON ? json(["names": count]) : "fetching \(counted(count, "name", "names"))\n"
        case .switched(let report):
            asJSON ? json(["switched": report]) : "httpdns is \(report?.text ?? "on")\n"
        case .providers(let report): asJSON ? json(report) : report.text
        case .reset(let count): asJSON ? json(["reset": count]) : "reset \(counted(count, "provider", "providers"))\n"
        case .network(let report): asJSON ? json(report) : report.text
        case .networkHistory(let report): asJSON ? json(report) : report.text
        case .help: asJSON ? json(["commands": Command.Word.allCases.map(\.rawValue)]) : Reply.helpText
        case .refusal(let refusal): asJSON ? json(["error": refusal.reason]) : "error: \(refusal.reason)\n"
        }
    }

    /// True for an answer that `refusal` rendered.
    package static func isRefusal(_ answer: some Collection<UInt8>) -> Bool {
        answer.starts(with: "error: ".utf8) || answer.starts(with: "{\"error\":".utf8)
    }

    private static let helpText = """
        status                                      version, listeners, providers and cache in a few lines
        stats                                       every counter
        cache ls [NAME]                             entries: name, type, state, TTL left, provenance, code
        cache get NAME [TYPE]                       everything about the entries of a name
        cache dump                                  the records of every entry
        flush [--tree] [--type TYPE] NAME           removes the entries of a name, with --tree all under it, too
        flush --all                                 removes every entry
        prefetch NAME...                            resolves up to 100 names, so that the cache has them
        httpdns off [--for DURATION] [--rule NAME]  asks no provider, or none for a name and all under it
        httpdns on [--rule NAME]                    asks providers again
        providers                                   how each provider does: share, latency, success, addresses
        providers reset [NAME]                      forgets what was measured of one provider or of all
        providers test NAME                         tries out what a provider can do and how fast it is
        network                                     which network is in use, what leads out of it, which are known
        network history                             when it changed, why, and how long the first fresh answer took
        verify NAME                                 probes the addresses of a name now: verdict, times, certificate
        verdicts [NAME]                             what is known of addresses: verdict, place in answers, and why
        report NAME ADDRESS                         says that an address of a name failed: it is probed at once
        evidence                                    the last 256 times that a source led to somebody else's address
        whois ADDRESS                               the names that have led to an address
        explain NAME [TYPE]                         why a name is answered as it is, and what the next query will do
        query NAME [TYPE]                           resolves a name as for a client; with --no-cache anew, and with
                                                    --provider NAME by that provider alone
        top                                         what changes from second to second
        inflight                                    the lookups that are under way
        watch [--name GLOB] [--clients]             queries as they are answered
        recorder dump [--clients]                   the last 10,000 events of each thread
        recorder read FILE [--clients]              those of a file that was left by a crash or a burst of failures;
                                                    httpdnsctl reads it itself
        log LEVEL [--for DURATION]                  what is logged: error, warning, info or debug
        reload                                      reads the settings again
        help                                        this list
        Each takes --json, and may come as JSON: {"command":"flush","name":"www.example.com","tree":true}
        flush, prefetch, httpdns, providers reset, providers test and verify are for root and for the user and group
        of the daemon. A duration is 1s to 30d, such as 10m or 2h; without one it is off until switched on.

        """
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
