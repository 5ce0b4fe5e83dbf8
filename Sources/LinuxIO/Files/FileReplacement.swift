// Replaces files and links atomically, also across a power failure. The new object is prepared in the same directory
// under a name that the caller chooses.

import Glibc

package enum FileReplacement {
    /// - Parameter unfinished: path of the temporary file, in the same directory. A leftover of an earlier run is
    ///   removed.
    /// - Throws: EROFS, EPERM (immutable), EBUSY (a mount point), ENOSPC and the like.
    package static func put(
        _ bytes: [UInt8], _ rights: FileRights, at path: String, by unfinished: String
    ) throws(SystemError) {
        try remove(unfinished)
        try NewFile.write(bytes, at: unfinished, rights)
        try move(unfinished, to: path)
    }

    package static func putLink(
        to target: [UInt8], _ rights: FileRights, at path: String, by unfinished: String
    ) throws(SystemError) {
        try remove(unfinished)
        let text = target.map { CChar(bitPattern: $0) } + [0]
        try SystemCall.run("symlink") { unsafe symlink(text, unfinished) }
        try SystemCall.run("lchown") { unsafe lchown(unfinished, rights.userID, rights.groupID) }
        try move(unfinished, to: path)
    }

    /// Overwrites a file that is a mount point and cannot be replaced. Mode and owner stay. A reader may see the
    /// beginning of the new text with the end of the old one.
    package static func writeOver(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        let opened = try SystemCall.run("open") { unsafe open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC) }
        let file = FileDescriptor(owning: opened)
        try write(bytes, to: file)
        try SystemCall.run("ftruncate") { ftruncate(file.raw, off_t(bytes.count)) }
        try SystemCall.run("fsync") { fsync(file.raw) }
    }

    /// Removes a file or link. Does nothing if it is missing, even in a read-only place.
    package static func remove(_ path: String) throws(SystemError) {
        guard exists(path) else { return }
        try SystemCall.run("unlink") { unsafe unlink(path) }
        try syncParent(of: path)
    }

    /// Creates a directory with mode 755, like other directories of settings. Does nothing if it exists. Only for
    /// single-threaded programs, because the umask belongs to the process.
    package static func makeDirectory(_ path: String) throws(SystemError) {
        let mask = umask(0o022)
        defer { _ = umask(mask) }
        do throws(SystemError) {
            try SystemCall.run("mkdir") { unsafe mkdir(path, 0o755) }
        } catch {
            guard error.code == EEXIST else { throw error }
            return
        }
        try syncParent(of: path)
    }

    /// Removes a directory unless it has entries.
    package static func removeDirectory(_ path: String) throws(SystemError) {
        guard exists(path) else { return }
        do throws(SystemError) {
            try SystemCall.run("rmdir") { unsafe rmdir(path) }
        } catch {
            guard error.code == ENOTEMPTY || error.code == EEXIST else { throw error }
            return
        }
        try syncParent(of: path)
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    static func move(_ unfinished: String, to path: String) throws(SystemError) {
        try SystemCall.run("rename") { unsafe rename(unfinished, path) }
        try syncParent(of: path)
    }

    static func write(_ bytes: [UInt8], to file: borrowing FileDescriptor) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let raw = file.raw
            let count = try SystemCall.run("write") {
                unsafe rest.withUnsafeBytes { unsafe Glibc.write(raw, $0.baseAddress, $0.count) }
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Writes the directory's names to the disk; fsync of a file does not.
    static func syncParent(of path: String) throws(SystemError) {
        guard let slash = path.lastIndex(of: "/") else { return }
        let parent = slash == path.startIndex ? "/" : String(path[..<slash])
        let opened = try SystemCall.run("open") { unsafe open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        let directory = FileDescriptor(owning: opened)
        try SystemCall.run("fsync") { fsync(directory.raw) }
    }
}
