// Reads, writes and locks the takeover record and its directory. One process works there at a time.

import Control
import DNSWire
import LinuxIO

enum KeptRecord {
    case none
    case whole(TakeoverRecord)
    case damaged(RecordFault)

    static func read() throws(SystemError) -> KeptRecord {
        do throws(SystemError) {
            let bytes = try TextFile.read(SystemPaths.record, maxBytes: TakeoverRecord.maxBytes)
            do throws(RecordFault) {
                return .whole(try TakeoverRecord(bytes))
            } catch {
                return .damaged(error)
            }
        } catch {
            if error.isPermissionDenied { fail("\(SystemPaths.record) is only for root: \(error)", Exit.failed) }
            guard error.isNoSuchFile else { throw error }
            return .none
        }
    }

    var word: SystemReport.Record {
        switch self {
        case .none: .none
        case .whole(let record): record.isComplete ? .complete : .unfinished
        case .damaged: .damaged
        }
    }

    /// Locks the record's directory until the process ends or the returned lock is released.
    /// - Parameter patience: how long to wait while another process holds the lock.
    static func lock(patience: Duration) throws(SystemError) -> DirectoryLock {
        try ChangeLock.take(SystemPaths.kept, patience: patience)
    }

    /// Writes the record; it is on the disk when this returns.
    static func write(_ record: TakeoverRecord) throws(SystemError) {
        // The record is as readable as the files that it preserves, so that users can see what will be restored.
        let rights = FileRights(userID: 0, groupID: 0, mode: record.mode)
        let path = SystemPaths.record
        try FileReplacement.put(record.text, rights, at: path, by: SystemPaths.unfinished(path))
    }

    /// Removes unfinished files and the empty directory if there is no record. Files kept for the operator stay.
    static func forgetPlace() throws(SystemError) {
        guard case .none = try read() else { return }
        for path in [SystemPaths.record, SystemPaths.formerNameservers] {
            try FileReplacement.remove(SystemPaths.unfinished(path))
        }
        try FileReplacement.removeDirectory(SystemPaths.kept)
    }

    static func damage(_ fault: RecordFault) -> String {
        "\(SystemPaths.record) can't be read: \(fault)\n"
            + "restore by hand the files listed in it, then remove it; the former nameservers are in "
            + SystemPaths.formerNameservers
    }
}
