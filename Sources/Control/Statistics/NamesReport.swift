// The names on the status page as one JSON object: the names asked most, the names that failed last, and evidence of
// forgery. Clients chose all of them.

package struct NamesReport: DataReport {
    /// Maximum number of entries of each list of names.
    package static let maxShown = 10
    package static let maxEvidence = 5

    /// The names asked most, the most asked first.
    package let asked: [TopReport.HotName]
    /// The names that failed last, the latest first.
    package let failed: [FailedName]
    /// The evidence of forgery, the oldest first.
    package let evidence: [EvidenceReport]

    package init(asked: [TopReport.HotName], failed: [FailedName], evidence: [EvidenceReport]) {
        self.asked = asked
        self.failed = failed
        self.evidence = evidence
    }

    package struct FailedName: Encodable, Equatable, Sendable {
        package let name: String
        package let type: String
        /// The reason that clients are told.
        package let reason: String
        /// The answers of the sources, such as "alidns: timeout".
        package let sources: [String]
        package let ageSeconds: Int
        /// Number of failures in a row.
        package let times: Int
        /// A later lookup of the name succeeded.
        package let isOver: Bool

        /// The name and the reason are untrusted: an upstream may send the reason.
        package init(
            name: String, type: String, reason: String, sources: [String], ageSeconds: Int, times: Int, isOver: Bool
        ) {
            self.name = name.shown(maxBytes: FailedName.maxTextBytes)
            self.type = type
            self.reason = reason.shown(maxBytes: FailedName.maxTextBytes)
            self.sources = sources.map { $0.shown(maxBytes: FailedName.maxTextBytes) }
            self.ageSeconds = ageSeconds
            self.times = times
            self.isOver = isOver
        }

        /// Maximum size of a text: the longest name with each of its bytes escaped.
        private static let maxTextBytes = 1_100

        package enum CodingKeys: String, CodingKey {
            case name, type, reason, sources, times
            case ageSeconds = "age_s"
            case isOver = "over"
        }
    }
}
