// What is wrong with a settings file, said so that it can be mended without the manual.

package struct Complaint: Equatable, Sendable {
    package let file: String
    /// Both count from 1; columns count characters.
    package let line: Int
    package let column: Int
    package let text: String
}

extension Complaint: CustomStringConvertible {
    /// The form that compilers use, so that editors can jump to the place.
    package var description: String { "\(file):\(line):\(column): \(text)" }
}

/// Everything found wrong in one reading, in the order of the file.
package struct SettingsError: Error, Equatable, Sendable {
    /// One or more, at most `maxComplaints`.
    package let complaints: [Complaint]
    /// How many more there were.
    package let omitted: Int

    /// A screenful: who gets more has the wrong file.
    package static let maxComplaints = 50

    init(_ complaints: [Complaint]) {
        let sorted = complaints.sorted { ($0.line, $0.column, $0.text) < ($1.line, $1.column, $1.text) }
        self.complaints = Array(sorted.prefix(SettingsError.maxComplaints))
        omitted = sorted.count - self.complaints.count
    }
}

extension SettingsError: CustomStringConvertible {
    /// One line for each complaint.
    package var description: String {
        let lines = complaints.map(\.description)
        return (omitted == 0 ? lines : lines + ["and \(omitted) more"]).joined(separator: "\n")
    }
}
