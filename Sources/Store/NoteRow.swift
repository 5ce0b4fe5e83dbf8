// A note as a row and back: a small named text that outlives the process, such as an operator's switch or the list of
// nodes that a provider told. What a note means is its writer's concern. A row is not believed, as with entries.

package enum NoteRow {
    /// A few for the daemon and a few for each of the providers that one machine asks; 256 for the evidence against
    /// sources. All together 1.25 MiB at most, which is read and told at the start.
    package static let maxCount = 64 + 256
    /// The program chooses the names: a word, and a provider's name behind it.
    package static let maxNameBytes = 64
    /// More than a hundred addresses with their ports. What is larger belongs into a table of its own.
    package static let maxValueBytes = 4_096

    /// A zero byte would end the text on its way into the file.
    package static func fits(name: String, value: String?) -> Bool {
        let value = value ?? ""
        return (1...maxNameBytes).contains(name.utf8.count) && value.utf8.count <= maxValueBytes
            && !name.utf8.contains(0) && !value.utf8.contains(0)
    }

    /// What `bind` fills, in its order. One more than there is room for changes nothing.
    static let insert = """
        INSERT OR REPLACE INTO notes(name, value, checksum)
        SELECT ?1, ?2, ?3
        WHERE (SELECT count(*) FROM notes WHERE name <> ?1) < \(maxCount)
        """

    /// What `read` reads, in its order.
    static let select = "SELECT name, value, checksum FROM notes ORDER BY name LIMIT \(maxCount)"

    static func bind(_ name: String, _ value: String, to statement: borrowing Statement) {
        statement.bind(name, at: 1)
        statement.bind(value, at: 2)
        statement.bind(checksum(name, value), at: 3)
    }

    /// Nil for a row that `bind` cannot have written.
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
