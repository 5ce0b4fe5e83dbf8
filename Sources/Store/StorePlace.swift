// The path of the store: its file made with the right mode, locked against a second daemon, set aside when it is no
// store of ours. It never deletes and never looks inside.

import CSQLite

/// A file that was renamed, and why.
package struct SetAside: Equatable, Sendable {
    package let path: String
    package let newPath: String
    package let finding: String
}

struct StorePlace: ~Copyable {
    let path: String
    /// Open and locked (flock) from the first use on; -1 before. A file beside the database: closing any descriptor of
    /// the database itself would release SQLite's own locks (POSIX).
    private var lock: Int32 = -1
    private var identity: Identity?

    /// Which file it is, whatever its name.
    private struct Identity: Equatable {
        let device: UInt
        let inode: UInt
    }

    /// Enough to look at what happened, few enough that a disk which damages everything is not filled.
    static let maxSetAside = 9
    /// Answers say what the machine's users ask for.
    private static let mode: UInt32 = 0o600

    init(path: String) {
        self.path = path
    }

    deinit {
        if lock >= 0 { _ = close(lock) }
    }

    /// Takes the lock for as long as this value lives.
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

    /// Makes an empty file if there is none, before SQLite would with a mode of its own; it gives its other files the
    /// mode of this one.
    mutating func prepare() throws(StoreFailure) {
        let descriptor = try StorePlace.open(path)
        _ = close(descriptor)
        identity = currentIdentity()
    }

    /// The file that was prepared still has its name: nobody moved or deleted it.
    var isInPlace: Bool { identity != nil && identity == currentIdentity() }

    /// The size of SQLite's log; 0 when there is none.
    var logBytes: Int {
        var status = stat()
        return unsafe lstat(path + "-wal", &status) == 0 ? Int(status.st_size) : 0
    }

    /// Renames the file to the first free of `path.aside-1` to `-9`, log and index before it: had they stayed, SQLite
    /// would take them for the new file's.
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
            throw code == EINVAL ? .forbidden("no regular file") : StoreFailure(systemCall: "open", code: code)
        }
        return descriptor
    }
}
