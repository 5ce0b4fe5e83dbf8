// The notes that a member keeps over restarts, in the store.

/// The raw value names the note in the store.
package enum FleetNote: String, Sendable {
    /// Which flushes are carried out, as in `FlushLog`.
    case flushes = "fleet-flushes"
    /// The number of members.
    case size = "fleet-size"
    /// The sums of billed questions, as in `SharedBills`.
    case bills = "fleet-bills"

    /// Splits a note of lines "NUMBER TEXT", the text without a line feed. Leaves out other lines.
    static func lines(of note: String) -> [(number: Substring, text: String)] {
        note.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            return parts.count == 2 ? (parts[0], String(parts[1])) : nil
        }
    }
}
