// The tables of the file and the check that the file is a store of this daemon. A change to a table must raise
// `version` and add the migration here.

enum Schema {
    /// The application ID: "HTDN" in the file header, where file(1) finds it too.
    static let applicationID: Int64 = 0x4854_444E
    /// The present version. Version 1 had no notes table, version 2 no extended errors.
    static let version: Int64 = 3

    /// One row for each answer and key. Loaded columns come first; later ones are for operators and cost nothing at
    /// load. `checksum` covers the loaded columns, so a damaged or edited row is skipped. Times are wall time since
    /// 1970, in seconds except in `stored_ms`. `extended_error` stands where SQLite adds a column to an existing table.
    private static let entries = entries(with: ", \(errorColumn)")
    private static let errorColumn = "extended_error TEXT"

    private static let formerEntries = entries(with: "")

    /// - Parameter last: a column that version 2 does not have.
    private static func entries(with last: String) -> String {
        """
        CREATE TABLE entries(
            question BLOB NOT NULL,
            type_number INTEGER NOT NULL,
            partition INTEGER NOT NULL,
            provenance TEXT NOT NULL,
            stored_ms INTEGER NOT NULL,
            lifetime INTEGER NOT NULL,
            demand REAL NOT NULL,
            rcode INTEGER NOT NULL,
            answers INTEGER NOT NULL,
            authorities INTEGER NOT NULL,
            is_cut INTEGER NOT NULL,
            body BLOB NOT NULL,
            checksum INTEGER NOT NULL,
            name TEXT NOT NULL,
            type TEXT NOT NULL,
            addresses TEXT NOT NULL,
            code TEXT AS (CASE rcode WHEN 0 THEN 'NOERROR' WHEN 3 THEN 'NXDOMAIN' ELSE 'RCODE' || rcode END),
            stored_at INTEGER AS (stored_ms / 1000),
            expires_at INTEGER AS (stored_ms / 1000 + lifetime)\(last),
            PRIMARY KEY(question, type_number, partition, provenance)
        ) STRICT, WITHOUT ROWID
        """
    }

    /// A table with one row: the time of the last write.
    private static let history = """
        CREATE TABLE history(
            id INTEGER PRIMARY KEY CHECK (id = 1),
            written_ms INTEGER NOT NULL
        ) STRICT
        """

    /// The table of notes. `checksum` covers name and value.
    private static let notes = """
        CREATE TABLE notes(
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL,
            checksum INTEGER NOT NULL
        ) STRICT
        """

    /// The state of a file.
    enum Finding: Equatable {
        /// The file is an empty database.
        case fresh
        /// The file has an earlier version, which these statements complete.
        case former(adding: String)
        case current
    }

    /// Returns the state of the file. Only reads it.
    ///
    /// - Throws: `unusable` unless the tables are exactly those of this schema.
    static func finding(_ database: borrowing Database) throws(StoreFailure) -> Finding {
        let id = try database.number("PRAGMA application_id")
        let found = try database.number("PRAGMA user_version")
        let statement = try Statement(
            "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name LIMIT 4",
            on: database)
        var tables: [String] = []
        while try statement.step() { tables.append(statement.text(0)) }
        if id == 0, found == 0, tables.isEmpty { return .fresh }
        guard id == applicationID else { throw .unusable("a database of another program") }
        switch (found, tables) {
        case (version, [entries, history, notes]): return .current
        case (2, [formerEntries, history, notes]): return .former(adding: addErrors)
        case (1, [formerEntries, history]): return .former(adding: "\(notes); \(addErrors)")
        case (1...version, _): throw .unusable("unknown tables")
        default: throw .unusable("schema version \(found), this program writes \(version)")
        }
    }

    /// Creates the tables in an empty file. The transaction is written in SQL, since a closure cannot borrow the
    /// connection. After a failure the caller closes the connection, which ends the transaction.
    static func create(_ database: borrowing Database) throws(StoreFailure) {
        try database.run(
            """
            BEGIN IMMEDIATE; \(entries); \(history); \(notes);
            PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version); COMMIT
            """)
    }

    private static let addErrors = "ALTER TABLE entries ADD COLUMN \(errorColumn)"

    /// Migrates a file of an earlier version completely, or leaves it unchanged. No row is rewritten.
    static func complete(_ database: borrowing Database, adding statements: String) throws(StoreFailure) {
        try database.run("BEGIN IMMEDIATE; \(statements); PRAGMA user_version = \(version); COMMIT")
    }
}
