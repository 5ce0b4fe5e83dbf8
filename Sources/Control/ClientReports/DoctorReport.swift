// The findings of `httpdnsctl doctor`. Text from files, certificates and settings is escaped here.

package struct DoctorReport: Report, Equatable {
    package struct Finding: Encodable, Equatable, Sendable {
        /// The severity: "fault", "warning" or "note".
        package let gravity: String
        package let subject: String
        package let text: String
        package let remedy: String

        package init(gravity: String, subject: String, text: String, remedy: String) {
            self.gravity = gravity
            self.subject = subject
            self.text = text.shown(maxBytes: Finding.maxTextBytes)
            self.remedy = remedy.shown(maxBytes: Finding.maxTextBytes)
        }

        /// Maximum size of a text: enough for a path, an excerpt of the file and an explanation.
        private static let maxTextBytes = 1024
    }

    private let schema = 1
    package let findings: [Finding]
    /// All subjects that were checked, in order.
    package let checked: [String]

    package init(findings: [Finding], checked: [String]) {
        self.findings = findings
        self.checked = checked
    }

    /// Whether there is a warning or a fault.
    package var hasFindings: Bool { findings.contains { $0.gravity != "note" } }

    package var text: String {
        let lines = findings.map { "\($0.gravity): \($0.subject): \($0.text); remedy: \($0.remedy)\n" }
        let looked = "checked: \(checked.joined(separator: ", "))\n"
        guard hasFindings else {
            return lines.joined() + "found no problem; " + looked
        }
        return lines.joined() + looked
    }
}
