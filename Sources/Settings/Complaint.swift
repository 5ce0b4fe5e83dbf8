// An error in a settings file, with position and remedy.

package struct Complaint: Equatable, Sendable {
    package let file: String
    /// Line and column count from 1; columns count characters.
    package let line: Int
    package let column: Int
    package let text: String
}

extension Complaint: CustomStringConvertible {
    /// The text in the format of compilers, so that editors can jump to the position.
    package var description: String { "\(file):\(line):\(column): \(text)" }
}

/// All errors of one parse, in file order.
package struct SettingsError: Error, Equatable, Sendable {
    /// The complaints: one or more, at most `maxComplaints`.
    package let complaints: [Complaint]
    /// The number of further errors.
    package let omitted: Int

    /// Maximum number of complaints: one for every key of the longest tables; more suggest a wrong file.
    package static let maxComplaints = 100

    init(_ complaints: [Complaint]) {
        let sorted = complaints.sorted { ($0.line, $0.column, $0.text) < ($1.line, $1.column, $1.text) }
        self.complaints = Array(sorted.prefix(SettingsError.maxComplaints))
        omitted = sorted.count - self.complaints.count
    }
}

extension SettingsError: CustomStringConvertible {
    package var description: String { lines.joined(separator: "\n") }

    /// One line for each complaint.
    package var lines: [String] { complaints.map(\.description) + (omitted == 0 ? [] : ["and \(omitted) more"]) }
}
