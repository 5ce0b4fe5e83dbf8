// Gives a directory, and root's files in it, to the serving user. Checks everything after opening and follows no link:
// an unprivileged user may have created the entries.

import Glibc

package enum StateDirectoryOwnership {
    private static let root: UInt32 = 0

    /// Creates the directory if only this directory is missing. Gives the directory, and those of the files that belong
    /// to root, to the user. An existing directory of root with another name stays unchanged, because it may hold
    /// foreign files. Nothing is done if the parent directory does not belong to root: its owner can do it.
    ///
    /// - Parameters:
    ///   - ownName: the last component of the path of a directory that belongs to the daemon.
    ///   - spared: directories that stay root's, by any path.
    ///   - files: names in the directory; regular files with a single link.
    package static func leave(
        directory path: String, ownName: String, sparing spared: [String], files: [String], to account: Account
    ) throws(SystemError) {
        guard let slash = path.lastIndex(of: "/") else { return }
        let name = String(path[path.index(after: slash)...])
        let above = slash == path.startIndex ? "/" : String(path[..<slash])
        guard let parent = try open(above), try status(parent).st_uid == root, !name.isEmpty else { return }
        let isMade = unsafe mkdirat(parent.raw, name, 0o755) == 0
        guard let directory = try openOwn(name, in: parent, O_DIRECTORY) else { return }
        let found = try status(directory)
        if found.st_uid == root {
            guard isMade || name == ownName, !spared.contains(where: { isAt($0, found) }) else { return }
            try SystemCall.run("fchown") { fchown(directory.raw, account.userID, account.groupID) }
        } else if found.st_uid != account.userID {
            return
        }
        for file in files { try leave(file, in: directory, to: account) }
    }

    private static func isAt(_ path: String, _ found: stat) -> Bool {
        var other = stat()
        return unsafe stat(path, &other) == 0 && (other.st_dev, other.st_ino) == (found.st_dev, found.st_ino)
    }

    private static func leave(
        _ name: String, in directory: borrowing FileDescriptor, to account: Account
    ) throws(SystemError) {
        guard let file = try openOwn(name, in: directory, 0) else { return }
        let status = try status(file)
        guard status.st_uid == root, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else { return }
        try SystemCall.run("fchown") { fchown(file.raw, account.userID, account.groupID) }
    }

    /// Returns nil if the entry is missing, a link, a socket, or not a directory where one is expected.
    private static func openOwn(
        _ name: String, in directory: borrowing FileDescriptor, _ flags: Int32
    ) throws(SystemError) -> FileDescriptor? {
        let parent = directory.raw
        do throws(SystemError) {
            // Non-blocking, so that a FIFO in place of a file cannot block the process.
            return FileDescriptor(
                owning: try SystemCall.run("openat") {
                    unsafe openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags)
                })
        } catch {
            guard [ENOENT, ELOOP, ENOTDIR, ENXIO].contains(error.code) else { throw error }
            return nil
        }
    }

    /// Returns nil if there is no such directory.
    private static func open(_ path: String) throws(SystemError) -> FileDescriptor? {
        do throws(SystemError) {
            return FileDescriptor(
                owning: try SystemCall.run("open") { unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY) })
        } catch {
            guard [ENOENT, ENOTDIR].contains(error.code) else { throw error }
            return nil
        }
    }

    private static func status(_ descriptor: borrowing FileDescriptor) throws(SystemError) -> stat {
        var status = stat()
        let raw = descriptor.raw
        try SystemCall.run("fstat") { unsafe fstat(raw, &status) }
        return status
    }
}
