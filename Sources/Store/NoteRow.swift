// Converts a note to a row and back: a small named text that survives restarts, such as an operator's switch or a
// provider's list of service nodes. Validates every row.

package enum NoteRow {
    /// Maximum number of notes: a few for the daemon and for each provider of a machine; 256 for forgery evidence
    /// against sources; 32 for rules added at run time. They take at most 1.5 MiB in total, read at the start.
    package static let maxCount = 64 + 256 + 32
    /// Maximum size of a name. The daemon chooses names: words, followed by the name of a provider or of a host, as in
    /// "addresses of dns.example". A host name has up to 253 bytes.
    package static let maxNameBytes = 13 + 253
    /// Maximum size of a value: more than a hundred addresses with ports. Larger data needs its own table.
    package static let maxValueBytes = 4_096

    /// Whether a note fits. A NUL byte would end the text when SQLite binds it.
    package static func fits(name: String, value: String?) -> Bool {
        let value = value ?? ""
        return (1...maxNameBytes).contains(name.utf8.count) && value.utf8.count <= maxValueBytes
            && !name.utf8.contains(0) && !value.utf8.contains(0)
    }

    /// The statement that writes a row. `bind` sets its parameters in the same order. It does nothing if the table is
    /// full.
    static let insert = """
        INSERT OR REPLACE INTO notes(name, value, checksum)
        SELECT ?1, ?2, ?3
        WHERE (SELECT count(*) FROM notes WHERE name <> ?1) < \(maxCount)
        """

    /// The statement that reads rows. `read` reads its columns in the same order.
    static let select = "SELECT name, value, checksum FROM notes ORDER BY name LIMIT \(maxCount)"

    static func bind(_ name: String, _ value: String, to statement: borrowing Statement) {
        statement.bind(name, at: 1)
        statement.bind(value, at: 2)
        statement.bind(checksum(name, value), at: 3)
    }

    /// Returns the note of a row; nil for a row that `bind` cannot have written.
    static func read(_ statement: borrowing Statement) -> (name: String, value: String)? {
        let (name, value) = (statement.text(0), statement.text(1))
        guard fits(name: name, value: value), checksum(name, value) == statement.integer(2) else { return nil }
        return (name, value)
    }

    private static func checksum(_ name: String, _ value: String) -> Int64 {
        var sum = RowChecksum()
        sum.absorb(Array(name.utf8))
        sum.absorb(Array(value.utf8))
        return Int64(bitPattern: sum.state)
    }
}
