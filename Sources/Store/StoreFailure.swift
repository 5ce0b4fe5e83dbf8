// Why the file cannot be read or written now. Serving goes on from memory in each case.

import CSQLite

package enum StoreFailure: Error, Hashable, Sendable {
    /// Another daemon has it, or somebody holds it longer than we wait.
    case locked
    /// No space left on the disk, or the file is as large as we let it become. The batch is not in the file.
    case full
    /// Not ours to open, make or write, or no file at all: the operating system's words.
    case forbidden(String)
    /// What is in the file is no store of ours, or not whole: what was found.
    case unusable(String)
    /// As many files as we leave behind have been set aside already.
    case crowded
    /// Anything else that the disk or the library says.
    case other(String)

    /// From what a call into SQLite returned, right after it.
    init(code: Int32, on database: OpaquePointer?) {
        let systemCode = unsafe database.map { unsafe sqlite3_system_errno($0) } ?? 0
        let text = unsafe database.flatMap { unsafe sqlite3_errmsg($0) }.map { unsafe String(cString: $0) } ?? ""
        self = StoreFailure.meaning(code, systemCode: systemCode, text: text)
    }

    /// From errno, right after the call.
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
        // An error in our SQL is one of the tables: the same statements have been prepared on a store of ours.
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
        case .full: "no space is left for it"
        case .forbidden(let reason), .other(let reason): reason
        case .unusable(let finding): "it is damaged or not ours: \(finding)"
        case .crowded: "it is damaged or not ours, and \(StorePlace.maxSetAside) such files lie beside it already"
        }
    }
}
