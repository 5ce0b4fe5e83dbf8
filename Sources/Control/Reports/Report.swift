// The forms of a report: one line of JSON with sorted keys and, of most, text for people.

/// A report with a JSON form.
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
    /// The text for people; ends with a newline.
    var text: String { get }
}

extension Report {
    package func rendered(asJSON: Bool) -> String { asJSON ? jsonLine : text }
}
