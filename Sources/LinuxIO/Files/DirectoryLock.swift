// Exclusive lock of one process on a directory. The kernel releases it when the process ends.

import Glibc

package struct DirectoryLock: ~Copyable {
    private let descriptor: FileDescriptor

    /// Maximum number of attempts while another process keeps replacing the directory.
    private static let maxRounds = 16

    /// - Throws: EAGAIN if another process has the lock; ENOENT without the directory.
    package init(_ path: String) throws(SystemError) {
        for _ in 0..<DirectoryLock.maxRounds {
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
            let opened = FileDescriptor(owning: try SystemCall.run("open") { unsafe open(path, flags) })
            let raw = opened.raw
            try SystemCall.run("flock") { flock(raw, LOCK_EX | LOCK_NB) }
            var locked = stat()
            var present = stat()
            try SystemCall.run("fstat") { unsafe fstat(raw, &locked) }
            // The former owner may have removed the directory while this process waited for the lock.
            if unsafe lstat(path, &present) == 0, present.st_ino == locked.st_ino, present.st_dev == locked.st_dev {
                descriptor = opened
                return
            }
        }
        throw SystemError(call: "flock", code: EAGAIN)
    }

    package static func isTaken(_ error: SystemError) -> Bool { error.code == EAGAIN }
}
