// The record of a takeover on the disk, and the directory that it has for itself. One process works there at a time.

import Control
import LinuxIO
import Takeover

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
            if error.isPermissionDenied { fail("\(SystemPaths.record) is for root alone: \(error)", Exit.failed) }
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

    /// Until the end of the process, or of what is returned.
    /// - Parameter patience: how long to wait while somebody else has it.
    static func lock(patience: Duration) throws(SystemError) -> DirectoryLock {
        let deadline = Clock.now() + patience
        while true {
            try FileReplacement.makeDirectory(SystemPaths.kept)
            do throws(SystemError) {
                return try DirectoryLock(SystemPaths.kept)
            } catch {
                // Who is done removes the directory, perhaps between our two steps.
                guard DirectoryLock.isTaken(error) || error.isNoSuchFile else { throw error }
            }
            guard Clock.now() < deadline else {
                fail("another httpdnsctl is at this; try again when it is done", Exit.failed)
            }
            wait(betweenTries)
        }
    }

    private static let betweenTries = Duration.milliseconds(100)

    /// A signal ends the program, as at any other moment.
    static func wait(_ duration: Duration) {
        let deadline = Clock.now() + duration
        guard let loop = try? EventLoop() else { return }
        while Clock.now() < deadline, (try? loop.turn(until: deadline)) != nil {}
    }

    /// It is on the disk when this returns.
    static func write(_ record: TakeoverRecord) throws(SystemError) {
        // For those who want to see what is going to be given back, where they could read it before.
        let rights = FileRights(userID: 0, groupID: 0, mode: record.mode)
        let path = SystemPaths.record
        try FileReplacement.put(record.text, rights, at: path, by: SystemPaths.unfinished(path))
    }

    /// When no record is there: what is left of the place, as far as it is not kept for people.
    static func forgetPlace() throws(SystemError) {
        guard case .none = try read() else { return }
        for path in [SystemPaths.record, SystemPaths.formerNameservers] {
            try FileReplacement.remove(SystemPaths.unfinished(path))
        }
        try FileReplacement.removeDirectory(SystemPaths.kept)
    }

    static func damage(_ fault: RecordFault) -> String {
        "\(SystemPaths.record) can't be read: \(fault)\n"
            + "give back by hand what stands in it, and remove it; the former nameservers are in "
            + SystemPaths.formerNameservers
    }

    /// What can be done about a file that can't be written.
    static func remedy(_ error: SystemError, _ path: String) -> String {
        if error.isReadOnly { return "\nits file system is read-only; nothing can be changed there" }
        if error.isPermissionDenied { return "\nis it immutable? see: lsattr \(path); then: chattr -i \(path)" }
        return ""
    }
}
