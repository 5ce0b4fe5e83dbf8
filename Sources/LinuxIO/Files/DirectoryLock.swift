// One process at a time may work in a directory: the lock ends with its owner, however that ends.

import Glibc

package struct DirectoryLock: ~Copyable {
    private let descriptor: FileDescriptor

    /// A directory that is removed and made anew each time by somebody else is no place for a lock.
    private static let maxRounds = 16

    /// - Throws: EAGAIN when somebody else has it; ENOENT without the directory.
    package init(_ path: String) throws(SystemError) {
        for _ in 0..<DirectoryLock.maxRounds {
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
            let opened = FileDescriptor(owning: try SystemCall.run("open") { unsafe open(path, flags) })
            let raw = opened.raw
            try SystemCall.run("flock") { flock(raw, LOCK_EX | LOCK_NB) }
            var locked = stat()
            var present = stat()
            try SystemCall.run("fstat") { unsafe fstat(raw, &locked) }
            // Who had it before may have removed the directory with us waiting at its door.
            if unsafe lstat(path, &present) == 0, present.st_ino == locked.st_ino, present.st_dev == locked.st_dev {
                descriptor = opened
                return
            }
        }
        throw SystemError(call: "flock", code: EAGAIN)
    }

    package static func isTaken(_ error: SystemError) -> Bool { error.code == EAGAIN }
}
