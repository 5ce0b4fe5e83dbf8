// Owner and permissions of a path's target. Opens the file only to check the immutable flag.

import Glibc

package struct FileStatus: Equatable, Sendable {
    package let isDirectory: Bool
    package let isRegular: Bool
    /// Size of the file in bytes.
    package let size: Int
    package let ownerID: UInt32
    package let groupID: UInt32
    package let mode: UInt32
}

extension FileStatus {
    /// Reads the status of the path's target.
    ///
    /// - Throws: ENOENT, ENOTDIR, EACCES, ELOOP.
    package init(at path: String) throws(SystemError) {
        guard !path.utf8.contains(0) else { throw SystemError(call: "stat", code: ENOENT) }
        var status = stat()
        try SystemCall.run("stat") { unsafe stat(path, &status) }
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
        isRegular = status.st_mode & S_IFMT == S_IFREG
        size = Int(status.st_size)
        ownerID = status.st_uid
        groupID = status.st_gid
        mode = status.st_mode & 0o7777
    }

    /// Returns whether the path itself is a regular file, and not a link to one.
    package static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Returns whether this process may create files in the directory.
    package static func isWritable(directory path: String) -> Bool { unsafe access(path, W_OK | X_OK) == 0 }

    /// Returns the space available to unprivileged users on the path's file system; nil if unknown.
    package static func freeBytes(at path: String) -> Int? {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? Int.max : Int(clamping: bytes)
    }

    /// Returns whether the immutable flag is set (chattr +i); false if the file system does not support it.
    package static func isImmutable(_ path: String) -> Bool {
        guard let opened = try? SystemCall.run("open", { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }) else {
            return false
        }
        let descriptor = FileDescriptor(owning: opened)
        var flags: Int = 0
        guard unsafe ioctl(descriptor.raw, getFlags, &flags) == 0 else { return false }
        return flags & immutable != 0
    }

    /// FS_IOC_GETFLAGS of linux/fs.h. An ioctl's number contains the size of a long.
    private static let getFlags: UInt = MemoryLayout<Int>.size == 8 ? 0x8008_6601 : 0x8004_6601
    private static let immutable = 0x10
}
