// The path of the store: creates its file, locks it against a second daemon and renames a damaged one. It never
// deletes a file or reads its content.

import CSQLite

/// The path of a renamed file, and the reason for the renaming.
package struct SetAside: Equatable, Sendable {
    package let path: String
    package let newPath: String
    package let finding: String
}

struct StorePlace: ~Copyable {
    let path: String
    /// The lock file, open and locked (flock) from the first use on; -1 before. It is a separate file: closing any
    /// descriptor of the database itself would release SQLite's own locks (POSIX).
    private var lock: Int32 = -1
    private var identity: Identity?

    /// Identifies a file independently of its name.
    private struct Identity: Equatable {
        let device: UInt
        let inode: UInt
    }

    /// Maximum number of renamed files: enough for diagnosis, and few enough that a failing disk is not filled.
    static let maxSetAside = 9
    /// The mode of the file, private to the daemon: answers reveal which names the users look up.
    private static let mode: UInt32 = 0o600

    init(path: String) {
        self.path = path
    }

    deinit {
        if lock >= 0 { _ = close(lock) }
    }

    /// Takes the lock for the lifetime of this value.
    mutating func takeLock() throws(StoreFailure) {
        guard lock < 0 else { return }
        let descriptor = try StorePlace.open(path + ".lock")
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = csqlite_errno()
            _ = close(descriptor)
            throw code == EWOULDBLOCK ? .locked : StoreFailure(systemCall: "flock", code: code)
        }
        lock = descriptor
    }

    /// Creates an empty file with `mode` if there is none. SQLite would use its own mode, and gives its other files the
    /// mode of this file.
    mutating func prepare() throws(StoreFailure) {
        let descriptor = try StorePlace.open(path)
        _ = close(descriptor)
        identity = currentIdentity()
    }

    /// True if the prepared file is still at its path.
    var isInPlace: Bool { identity != nil && identity == currentIdentity() }

    /// The size of SQLite's log; 0 if there is none.
    var logBytes: Int {
        var status = stat()
        return unsafe lstat(path + "-wal", &status) == 0 ? Int(status.st_size) : 0
    }

    /// Renames the file to the first free of `path.aside-1` to `-9`. Renames log and index first; otherwise SQLite
    /// would apply them to the new file.
    func setAside(finding: String) throws(StoreFailure) -> SetAside {
        for number in 1...StorePlace.maxSetAside {
            let newPath = "\(path).aside-\(number)"
            guard unsafe access(newPath, F_OK) != 0, csqlite_errno() == ENOENT else { continue }
            for suffix in ["-shm", "-wal", ""] {
                guard unsafe rename(path + suffix, newPath + suffix) == 0 || csqlite_errno() == ENOENT else {
                    throw StoreFailure(systemCall: "rename", code: csqlite_errno())
                }
            }
            return SetAside(path: path, newPath: newPath, finding: finding)
        }
        throw .crowded
    }

    private func currentIdentity() -> Identity? {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        return Identity(device: UInt(status.st_dev), inode: UInt(status.st_ino))
    }

    private static func open(_ path: String) throws(StoreFailure) -> Int32 {
        let descriptor = unsafe csqlite_open_file(path, mode)
        let code = csqlite_errno()
        guard descriptor >= 0 else {
            throw code == EINVAL ? .forbidden("not a regular file") : StoreFailure(systemCall: "open", code: code)
        }
        return descriptor
    }
}
