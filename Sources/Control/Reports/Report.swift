// The two forms of a report: text for people, and one line of JSON with sorted keys.

package protocol DataReport: Encodable, Sendable {}

extension DataReport {
    package var jsonLine: String { json(self) }
}

extension DataReport where Self: Decodable {
    /// Parses an answer with --json; nil for any other text, or for the answer of another version.
    package init?(answer: [UInt8]) {
        guard let report: Self = decoded(String(decoding: answer, as: UTF8.self)) else { return nil }
        self = report
    }
}

package protocol Report: DataReport {
    /// Whole lines.
    var text: String { get }
}

extension Report {
    package func rendered(asJSON: Bool) -> String { asJSON ? jsonLine : text }
}
