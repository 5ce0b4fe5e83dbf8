// The reason why the file cannot be read or written. The daemon keeps serving from memory in each case.

import CSQLite

package enum StoreFailure: Error, Hashable, Sendable {
    /// Another daemon has the file, or another process holds it longer than the busy timeout.
    case locked
    /// The disk is full, or the file is at its maximum size. The batch was not written.
    case full
    /// Opening, creating or writing is not permitted, or the path is not a file; holds the system's text.
    case forbidden(String)
    /// The content is damaged or not a store; holds the finding.
    case unusable(String)
    /// The maximum number of renamed files exists already.
    case crowded
    /// Another error of the disk or of SQLite.
    case other(String)

    /// Creates the failure of an SQLite call; must be called immediately after it.
    init(code: Int32, on database: OpaquePointer?) {
        let systemCode = unsafe database.map { unsafe sqlite3_system_errno($0) } ?? 0
        let text = unsafe database.flatMap { unsafe sqlite3_errmsg($0) }.map { unsafe String(cString: $0) } ?? ""
        self = StoreFailure.meaning(code, systemCode: systemCode, text: text)
    }

    /// Creates the failure of a system call; must be called immediately after it.
    init(systemCall call: String, code: Int32) {
        let text = unsafe "\(call): \(String(cString: strerror(code)))"
        self = StoreFailure.outOfSpace.contains(code) ? .full : .forbidden(text)
    }

    private static let outOfSpace: Set<Int32> = [ENOSPC, EDQUOT, EFBIG]

    private static func meaning(_ code: Int32, systemCode: Int32, text: String) -> StoreFailure {
        let ioShortRead = SQLITE_IOERR | 2 << 8
        switch code & 0xFF {
        case SQLITE_FULL: return .full
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: return .locked
        // The same SQL has worked on a valid store, so an SQL error means wrong tables.
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_TOOBIG, SQLITE_SCHEMA, SQLITE_ERROR: return .unusable(text)
        case SQLITE_IOERR where code == ioShortRead: return .unusable("the file ends too early")
        case SQLITE_IOERR, SQLITE_CANTOPEN:
            if outOfSpace.contains(systemCode) { return .full }
            let reason = unsafe systemCode == 0 ? text : "\(text): \(String(cString: strerror(systemCode)))"
            return code & 0xFF == SQLITE_IOERR ? .other(reason) : .forbidden(reason)
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: return .forbidden(text)
        default: return .other(text)
        }
    }
}

extension StoreFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .locked: "another process has it locked"
        case .full: "no space left on its file system"
        case .forbidden(let reason), .other(let reason): reason
        case .unusable(let finding): "it is damaged or of another program: \(finding)"
        case .crowded:
            "it is damaged or foreign, and \(StorePlace.maxSetAside) such files were set aside already"
        }
    }
}
