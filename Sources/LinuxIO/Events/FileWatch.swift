// Detects changes of small files: resolv.conf, hosts, settings. Watches their directories, because editors and network
// tools replace files and links instead of writing into them. Does not read the files.

import CLinux
import Glibc

package final class FileWatch {
    private let source: FileDescriptor
    package let paths: [String]
    private let events: UInt32
    /// Tells by its name whether a file of a watched directory is of interest; nil: every entry is.
    private let isUsed: ((String) -> Bool)?
    /// For each inotify watch, the affected paths by name. The name "" is the watched object itself; `anyName` is
    /// everything in it.
    private var concerns: [Int32: [String: Set<String>]] = [:]
    /// Files that were created and are not complete, by watch.
    private var incomplete: [Int32: Set<String>] = [:]
    /// The watched directories, by watch.
    private var directories: [Int32: String] = [:]

    /// A name that no file can have.
    private static let anyName = "/"

    /// - Parameters:
    ///   - paths: absolute. Files and directories may be missing: their creation is noticed too. A path that ends with
    ///     "/" stands for a directory and the files in it.
    ///   - seesWrites: reports each write, too, for files that their writer keeps open.
    ///   - isUsed: returns whether a regular file with this name is reported in watched directories; nil: every entry
    ///     is. A
    ///     file that is removed is reported if its own path is watched, too.
    /// - Throws: EMFILE, ENOSPC: the limits in fs.inotify.
    package init(
        _ paths: [String], seesWrites: Bool = false, isUsed: ((String) -> Bool)? = nil
    ) throws(SystemError) {
        precondition(paths.allSatisfy { $0.utf8.first == UInt8(ascii: "/") }, "a watched path is absolute")
        self.paths = paths
        self.isUsed = isUsed
        events = FileWatch.changes | (seesWrites ? UInt32(IN_MODIFY) : 0)
        source = FileDescriptor(
            owning: try SystemCall.run("inotify_init1") {
                inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
            })
        try watchAll()
    }

    /// The descriptor that becomes readable after an event in a watched directory.
    package var descriptor: Int32 { source.raw }

    /// Returns the watched paths whose file, or a link on the way to it, was written, replaced, created or removed
    /// since the last call. A change in several steps may be reported more than once.
    package func takeChangedPaths() throws(SystemError) -> Set<String> {
        var changed: Set<String> = []
        var sawEvents = false
        while let bytes = try nextEvents() {
            sawEvents = true
            collectChanges(from: bytes, into: &changed)
        }
        if sawEvents { try watchAll() }
        return changed
    }

    /// Size of the buffer for a batch of events. One event takes 16 bytes and a name of at most 256.
    private static let bufferBytes = 16 * 1024

    private func nextEvents() throws(SystemError) -> [UInt8]? {
        try unsafe SystemCall.bytes("read", maxBytes: FileWatch.bufferBytes) { unsafe read(source.raw, $0, $1) }
    }

    /// struct inotify_event: wd, mask, cookie, len (4 bytes each), then `len` bytes of name and zeros.
    private func collectChanges(from bytes: [UInt8], into changed: inout Set<String>) {
        let headerBytes = 16
        var at = 0
        while at + headerBytes <= bytes.count {
            let (watch, mask, length) = unsafe bytes.withUnsafeBytes {
                unsafe (
                    $0.loadUnaligned(fromByteOffset: at, as: Int32.self),
                    $0.loadUnaligned(fromByteOffset: at + 4, as: UInt32.self),
                    Int($0.loadUnaligned(fromByteOffset: at + 12, as: UInt32.self))
                )
            }
            let name = bytes[(at + headerBytes)...].prefix(length).prefix { $0 != 0 }
            at += headerBytes + length
            if mask & UInt32(IN_Q_OVERFLOW) != 0 { changed.formUnion(paths) }
            guard let names = concerns[watch] else { continue }
            let entry = String(decoding: name, as: UTF8.self)
            if name.isEmpty {
                names.values.forEach { changed.formUnion($0) }
            } else if mask & UInt32(IN_CREATE) != 0, isBeingWritten(entry, in: watch) {
                if names[entry] ?? names[FileWatch.anyName] != nil { incomplete[watch, default: []].insert(entry) }
            } else {
                incomplete[watch]?.remove(entry)
                var complete: Set = [entry]
                // link(2) puts a file in place, and then its former name is removed.
                if mask & UInt32(IN_DELETE) != 0 { complete.formUnion(incomplete.removeValue(forKey: watch) ?? []) }
                for name in complete {
                    changed.formUnion(names[name] ?? [])
                    if isOfInterest(name, in: watch) { changed.formUnion(names[FileWatch.anyName] ?? []) }
                }
            }
            if mask & UInt32(IN_IGNORED) != 0 { (concerns[watch], incomplete[watch]) = (nil, nil) }
        }
    }

    private func isOfInterest(_ entry: String, in watch: Int32) -> Bool {
        guard let isUsed else { return true }
        guard isUsed(entry), let directory = directories[watch] else { return false }
        return (try? FileStatus(at: "\(directory)/\(entry)"))?.isRegular == true
    }

    /// A file that was just created is incomplete until its writer closes it, which is an event too. A hard link is
    /// complete: it has another name, or had one, whose removal changed the inode (ctime) and not the contents (mtime).
    private func isBeingWritten(_ entry: String, in watch: Int32) -> Bool {
        var status = stat()
        guard let directory = directories[watch], unsafe lstat("\(directory)/\(entry)", &status) == 0 else {
            return false
        }
        let (change, write) = (status.st_ctim, status.st_mtim)
        let wasLinked = (change.tv_sec, change.tv_nsec) > (write.tv_sec, write.tv_nsec)
        return status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1 && !wasLinked
    }

    private static let changes =
        UInt32(IN_CREATE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM) | UInt32(IN_DELETE) | UInt32(IN_CLOSE_WRITE)
        | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)

    /// Bound on rounds of the walk. A link that is replaced during the walk shows as a difference in the next round. A
    /// link that changes faster causes a further event.
    private static let maxRounds = 4

    private func watchAll() throws(SystemError) {
        for _ in 0..<FileWatch.maxRounds {
            let plan = paths.map { SymbolicLinks.entries(of: $0) }
            try watch(plan)
            if plan == paths.map({ SymbolicLinks.entries(of: $0) }) { return }
        }
    }

    private func watch(_ plan: [[DirectoryEntry]]) throws(SystemError) {
        var renewed: [Int32: [String: Set<String>]] = [:]
        directories = [:]
        for (path, entries) in zip(paths, plan) {
            for entry in entries {
                guard let watch = try addWatch(entry.directory) else { continue }
                directories[watch] = entry.directory
                renewed[watch, default: [:]][entry.name, default: []].insert(path)
            }
            // In a container the file itself may be a mount. Writes then do not show in its directory.
            if let watch = try addWatch(path) {
                renewed[watch, default: [:]]["", default: []].insert(path)
                let isDirectory = path.utf8.last == UInt8(ascii: "/")
                if isDirectory {
                    renewed[watch, default: [:]][FileWatch.anyName, default: []].insert(path)
                    directories[watch] = path
                }
            }
        }
        for watch in concerns.keys where renewed[watch] == nil { _ = inotify_rm_watch(source.raw, watch) }
        concerns = renewed
    }

    /// Returns nil for a missing or inaccessible path; an entry above it is then watched.
    private func addWatch(_ path: String) throws(SystemError) -> Int32? {
        do throws(SystemError) {
            return try SystemCall.run("inotify_add_watch") {
                unsafe inotify_add_watch(source.raw, path, events)
            }
        } catch {
            guard [ENOENT, ENOTDIR, EACCES, ELOOP].contains(error.code) else { throw error }
            return nil
        }
    }
}
