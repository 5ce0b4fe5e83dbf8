// Writes a file that other programs may write at the same time: what they wrote is never lost. `FileReplacement` is for
// files that may be overwritten.

import CLinux
import Glibc

package enum FileExchange {
    /// Creates a file. A reader sees the whole file or none.
    ///
    /// - Parameter unfinished: path of the temporary file, in the same directory. A leftover of an earlier run is
    ///   removed.
    /// - Throws: EEXIST if the path is taken; EROFS, ENOSPC and the like.
    package static func create(
        _ bytes: [UInt8], _ rights: FileRights, at path: String, by unfinished: String
    ) throws(SystemError) {
        try FileReplacement.remove(unfinished)
        try NewFile.write(bytes, at: unfinished, rights)
        defer { _ = unsafe unlink(unfinished) }
        try SystemCall.run("link") { unsafe link(unfinished, path) }
        try FileReplacement.syncParent(of: path)
    }

    /// Puts a new file in the place of `former`, which moves to `kept`. A reader sees the former file or the new one.
    ///
    /// - Parameters:
    ///   - kept: a free path, in the same directory.
    ///   - maxBytes: a larger file at the path does not count as `former`.
    /// - Returns: false if the path has another object than `former`, which stays there.
    /// - Throws: EEXIST if `kept` is taken; EINVAL if the file system can't exchange files; EROFS, EBUSY (a mount
    ///   point), ENOSPC and the like.
    package static func replace(
        _ former: FileSnapshot, at path: String, keeping kept: String, with bytes: [UInt8], _ rights: FileRights,
        maxBytes: Int
    ) throws(SystemError) -> Bool {
        try NewFile.write(bytes, at: kept, rights)
        do throws(SystemError) {
            try exchange(kept, path)
        } catch {
            _ = unsafe unlink(kept)
            guard error.isNoSuchFile else { throw error }
            return false
        }
        guard (try? FileSnapshot(at: kept, maxBytes: maxBytes)) != former else {
            try FileReplacement.syncParent(of: path)
            return true
        }
        try exchange(kept, path)
        // A file that has replaced the new one in the meantime stays as `kept`.
        if (try? FileSnapshot(at: kept, maxBytes: bytes.count)) == .file(bytes, rights) {
            try FileReplacement.remove(kept)
        }
        return false
    }

    private static func exchange(_ one: String, _ other: String) throws(SystemError) {
        try SystemCall.run("renameat2") { unsafe clinux_exchange(one, other) }
    }
}
