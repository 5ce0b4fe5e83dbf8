// The owners of SQLite's two handles: a connection and a prepared statement. They turn each result code into a value or
// a `StoreFailure`.

import CSQLite

@safe struct Database: ~Copyable {
    fileprivate let handle: OpaquePointer

    /// Time to wait while another process, such as sqlite3, holds the file.
    private static let busyTimeoutMilliseconds: Int32 = 1_000
    /// Maximum size of a row: 64 KiB of records, the name twice, a list of addresses. A longer row is damaged.
    private static let maxRowBytes: Int32 = 256 * 1024

    /// Opens an existing file, for one thread.
    init(path: String) throws(StoreFailure) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        var code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        if code == SQLITE_OK { code = unsafe csqlite_distrust(opened) }
        guard code == SQLITE_OK, let database = unsafe opened else {
            let failure = unsafe StoreFailure(code: code, on: opened)
            unsafe sqlite3_close_v2(opened)
            throw failure
        }
        unsafe sqlite3_extended_result_codes(database, 1)
        unsafe sqlite3_busy_timeout(database, Database.busyTimeoutMilliseconds)
        unsafe sqlite3_limit(database, SQLITE_LIMIT_LENGTH, Database.maxRowBytes)
        unsafe handle = database
    }

    /// Closes the connection. Open statements keep it alive until they are closed.
    deinit {
        unsafe sqlite3_close_v2(handle)
    }

    /// Runs one or more statements that return no rows.
    func run(_ sql: String) throws(StoreFailure) {
        let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw unsafe StoreFailure(code: code, on: handle) }
    }

    /// Returns the first column of the first row; 0 if there is no row.
    func number(_ sql: String) throws(StoreFailure) -> Int64 {
        let statement = try Statement(sql, on: self)
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Number of rows that the last INSERT, UPDATE or DELETE changed.
    var changes: Int { unsafe Int(sqlite3_changes(handle)) }

    /// Runs `body` in a transaction; a failure rolls it back.
    func transaction(_ body: () throws(StoreFailure) -> Void) throws(StoreFailure) {
        do throws(StoreFailure) {
            try run("BEGIN IMMEDIATE")
            try body()
            try run("COMMIT")
        } catch {
            // SQLite ends the transaction itself after some failures.
            if unsafe sqlite3_get_autocommit(handle) == 0 { try? run("ROLLBACK") }
            throw error
        }
    }
}

@safe struct Statement: ~Copyable {
    private let handle: OpaquePointer

    init(_ sql: String, on database: borrowing Database) throws(StoreFailure) {
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(
            database.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let statement = unsafe prepared else {
            throw unsafe StoreFailure(code: code, on: database.handle)
        }
        unsafe handle = statement
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    /// - Returns: true if there is a row to read; false at the end.
    func step() throws(StoreFailure) -> Bool {
        let code = unsafe sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw unsafe StoreFailure(code: code, on: sqlite3_db_handle(handle))
        }
    }

    /// Runs the statement to its end and resets it.
    func run() throws(StoreFailure) {
        defer { reset() }
        while try step() {}
    }

    func reset() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
    }

    // MARK: parameters, counted from 1: too large a value is found by `step`

    func bind(_ value: some BinaryInteger, at place: Int32) {
        unsafe sqlite3_bind_int64(handle, place, Int64(value))
    }

    func bind(_ value: Double, at place: Int32) { unsafe sqlite3_bind_double(handle, place, value) }

    func bind(_ value: String, at place: Int32) { _ = unsafe csqlite_bind_text(handle, place, value) }

    func bind(_ value: [UInt8], at place: Int32) {
        _ = unsafe csqlite_bind_blob(handle, place, value, Int32(value.count))
    }

    // MARK: columns, counted from 0; of another type than asked: converted, or empty

    func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

    func real(_ column: Int32) -> Double { unsafe sqlite3_column_double(handle, column) }

    func bytes(_ column: Int32) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        return unsafe Array(
            UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}
