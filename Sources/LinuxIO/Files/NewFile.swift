// Creates a file for its owner alone. Never overwrites, and follows no link.

import Glibc

package enum NewFile {
    /// Writes a new file with mode 0600. An incomplete file is removed.
    ///
    /// - Throws: EEXIST, EACCES, ENOENT (no such directory), ENOSPC and the like.
    package static func write(_ bytes: [UInt8], at path: String) throws(SystemError) {
        guard !path.utf8.contains(0) else { throw SystemError(call: "open", code: ENOENT) }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let opened = try SystemCall.run("open") { unsafe open(path, flags, 0o600) }
        do throws(SystemError) {
            try FileReplacement.write(bytes, to: FileDescriptor(owning: opened))
        } catch {
            _ = unsafe unlink(path)
            throw error
        }
    }
}
