// Removes secrets and client addresses from the lines of a bug report. The daemon writes none into its reports; values
// of a wrong settings file may get into the log.

import DNSWire
import Settings

struct ReportRedaction {
    /// The longest first, so that a secret inside another one does not split it.
    private let secrets: [String]

    /// Shorter ones, such as an account "100", would also match counters. No report of the daemon has an account.
    private static let minSecretBytes = 6

    init(_ settings: Settings) {
        secrets = settings.redactedTexts.filter { $0.utf8.count >= ReportRedaction.minSecretBytes }
            .sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
    }

    func line(_ line: String) -> String {
        var line = withoutValue(line)
        for secret in secrets where line.contains(secret) { line = line.replacing(secret, with: Settings.removed) }
        return withoutClient(line)
    }

    /// Cuts an error of the settings in front of its value: "FILE:2:8: cache.size: found 64; allowed: ...".
    private func withoutValue(_ line: String) -> String {
        let values = [": found ", ": write "].compactMap { line.firstRange(of: $0)?.upperBound }
        return values.min().map { line[..<$0] + Settings.removed } ?? line
    }

    /// Removes the client from a line of the query log, as text or JSON.
    private func withoutClient(_ line: String) -> String {
        if let from = line.ranges(of: ", from ").last, Address(String(line[from.upperBound...])) != nil {
            return line[..<from.upperBound] + Settings.removed
        }
        guard let client = line.firstRange(of: "\"client\":\"") else { return line }
        let rest = line[client.upperBound...].drop { $0 != "\"" }
        return line[..<client.upperBound] + Settings.removed + rest
    }
}
