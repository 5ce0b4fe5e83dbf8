// The findings of `httpdnsctl doctor`. Text from files, certificates and settings is escaped here.

import Control

/// In JSON, all texts are English.
struct DoctorReport: DataReport {
    private struct Row: Encodable {
        let gravity: String
        let subject: String
        let text: String
        let remedy: String
    }

    private let schema = 1
    private let findings: [Row]
    /// All subjects that were checked, in order.
    private let checked: [String]
    /// The lines for people.
    private let lines: [LocalizedText]
    /// Whether there is a warning or a fault.
    let hasFindings: Bool

    /// Maximum size of a text: enough for a path, an excerpt of the file and an explanation.
    private static let maxTextBytes = 1024

    private enum CodingKeys: CodingKey {
        case schema, findings, checked
    }

    init(_ findings: [Finding]) {
        let shown = { (text: LocalizedText) in text.english.shown(maxBytes: DoctorReport.maxTextBytes) }
        self.findings = findings.map {
            Row(
                gravity: $0.gravity.rawValue, subject: $0.subject.rawValue, text: shown($0.text),
                remedy: shown($0.remedy))
        }
        checked = Subject.allCases.map(\.rawValue)
        hasFindings = !findings.allSatisfy(\.isNote)
        let subjects = Subject.allCases.map(\.title)
        lines =
            findings.map { "\($0.gravity.title): \($0.subject.title): \($0.text); remedy: \($0.remedy)" }
            + [hasFindings ? "checked: \(list: subjects)" : "found no problem; checked: \(list: subjects)"]
    }

    /// The text for people; ends with a newline.
    func text(in language: Language) -> String {
        lines.map { $0.text(in: language).shown(maxBytes: 2 * DoctorReport.maxTextBytes) + "\n" }.joined()
    }
}
