// Creates a file durably. Never overwrites, and follows no link.

import Glibc

package enum NewFile {
    /// Writes a new file. An incomplete file is removed.
    ///
    /// - Parameter rights: by default those of a file for the process's user alone: mode 0600.
    /// - Throws: EEXIST, EACCES, ENOENT (no such directory), ENOSPC, EPERM (another owner without root) and the like.
    package static func write(
        _ bytes: [UInt8], at path: String, _ rights: FileRights? = nil
    ) throws(SystemError) {
        let file = try create(path)
        do throws(SystemError) {
            try FileReplacement.write(bytes, to: file)
            if let rights {
                try SystemCall.run("fchown") { fchown(file.raw, rights.userID, rights.groupID) }
                try SystemCall.run("fchmod") { fchmod(file.raw, rights.mode) }
            }
            try SystemCall.run("fsync") { fsync(file.raw) }
            try FileReplacement.syncParent(of: path)
        } catch {
            _ = unsafe unlink(path)
            throw error
        }
    }

    /// Creates an empty file with mode 0600, to be written.
    static func create(_ path: String) throws(SystemError) -> FileDescriptor {
        guard !path.utf8.contains(0) else { throw SystemError(call: "open", code: ENOENT) }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        return FileDescriptor(owning: try SystemCall.run("open") { unsafe open(path, flags, 0o600) })
    }
}
