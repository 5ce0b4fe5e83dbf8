// The tables of the file, and how a file is known to be ours. Whoever changes a table raises the version and says here
// what becomes of the older one.

enum Schema {
    /// "HTDN", in the header of the file, where file(1) sees it too.
    static let applicationID: Int64 = 0x4854_444E
    /// Version 1 had no notes.
    static let version: Int64 = 2

    /// A row is one answer under its whole key. What is loaded stands first: columns behind it are for people, are not
    /// read, and cost the loading nothing. `checksum` covers what is loaded, so that a row which was damaged or
    /// edited is left out. Times are wall time since 1970, in seconds except in `stored_ms`.
    private static let entries = """
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
            expires_at INTEGER AS (stored_ms / 1000 + lifetime),
            PRIMARY KEY(question, type_number, partition, provenance)
        ) STRICT, WITHOUT ROWID
        """

    /// One row: when the file was last written.
    private static let history = """
        CREATE TABLE history(
            id INTEGER PRIMARY KEY CHECK (id = 1),
            written_ms INTEGER NOT NULL
        ) STRICT
        """

    /// `checksum` covers name and value.
    private static let notes = """
        CREATE TABLE notes(
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL,
            checksum INTEGER NOT NULL
        ) STRICT
        """

    /// What a file is to us.
    enum Finding {
        /// Nothing is in it yet.
        case fresh
        /// Ours, without notes.
        case withoutNotes
        case current
    }

    /// Changes nothing.
    ///
    /// - Throws: `unusable` unless the tables are exactly ours.
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
        case (1, [entries, history]): return .withoutNotes
        case (1...version, _): throw .unusable("other tables than ours")
        default: throw .unusable("schema version \(found), we write \(version)")
        }
    }

    /// Makes the tables in a fresh file. A closure cannot borrow the connection, so the transaction is written out;
    /// whoever fails here closes the connection, and that ends it.
    static func create(_ database: borrowing Database) throws(StoreFailure) {
        try database.run(
            """
            BEGIN IMMEDIATE; \(entries); \(history); \(notes);
            PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version); COMMIT
            """)
    }

    /// Brings a file of version 1 to ours with everything in it, or leaves it as it is.
    static func addNotes(to database: borrowing Database) throws(StoreFailure) {
        try database.run("BEGIN IMMEDIATE; \(notes); PRAGMA user_version = \(version); COMMIT")
    }
}
