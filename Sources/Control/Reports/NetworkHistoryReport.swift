// `network history`: each change of network with its time, its cause, and the time to the first fresh answer.

package struct NetworkHistoryReport: Report, Codable, Equatable {
    /// The changes, the oldest first.
    package var changes: [Change]

    package init(_ changes: [Change]) {
        self.changes = changes
    }

    package struct Change: Codable, Equatable, Sendable {
        /// The time in seconds since 1970.
        package let seconds: Int64
        /// The ID of the network; empty if the network was lost.
        package let id: String
        package let words: String
        /// The cause: "route", "vpn", "wake", ...
        package let cause: String
        /// The time to the first fresh answer; nil if the next change came before it, or no client sent a query.
        package let recoveryMilliseconds: Int?

        package init(seconds: Int64, id: String, words: String, cause: String, recoveryMilliseconds: Int?) {
            self.seconds = seconds
            self.id = id.shown(maxBytes: NetworkReport.Bound.idBytes)
            self.words = words.shown(maxBytes: NetworkReport.Bound.wordsBytes)
            self.cause = cause.shown(maxBytes: NetworkReport.Bound.causeBytes)
            self.recoveryMilliseconds = recoveryMilliseconds
        }

        package enum CodingKeys: String, CodingKey {
            case seconds, id, words, cause
            case recoveryMilliseconds = "recovery_ms"
        }
    }
}

extension NetworkHistoryReport {
    /// The changes as text, which ends with a comment that counts them, so that truncation is visible.
    package var text: String {
        let end = "; \(counted(changes.count, "change", "changes"))"
        guard !changes.isEmpty else { return "\(end)\n" }
        let rows = [["time", "cause", "recovery", "network"]] + changes.map(\.columns)
        return (LineFormat.aligned(rows) + [end]).map { "\($0)\n" }.joined()
    }
}

extension NetworkHistoryReport.Change {
    fileprivate var columns: [String] {
        let network = words.isEmpty ? id : "\(id) (\(words))"
        return [
            LineFormat.moment(secondsSince1970: seconds), cause,
            recoveryMilliseconds.map { "\(LineFormat.grouped($0)) ms" } ?? "-", id.isEmpty ? "none" : network,
        ]
    }
}
