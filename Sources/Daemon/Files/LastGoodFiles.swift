// Copies of the last good files with names, in a directory beside the store. A start takes them in place of files with
// a fault, as a running daemon keeps what it has. A copy holds the file's bytes: the file's own parser reads it.

import DNSWire
import LinuxIO
import Settings

struct LastGoodFiles: Sendable {
    /// All copies together: half of the store's bound, for five million names. Files beyond it have no copy: the last
    /// ones by their paths.
    private static let maxBytes = 128 << 20
    /// Longest file name of most file systems (NAME_MAX).
    private static let maxNameBytes = 255

    private let directory: String

    /// Returns nil without a store: the operator wants nothing on the disk.
    init?(_ settings: Settings) {
        guard let store = settings.cache.store else { return nil }
        directory = store + ".names"
    }

    /// Returns the path of the copy; nil: the path is too long to be a file's name.
    func copy(of path: String) -> String? {
        let name = LastGoodFiles.name(of: path)
        return name.utf8.count <= LastGoodFiles.maxNameBytes ? "\(directory)/\(name)" : nil
    }

    /// Returns the paths whose copies are there, below a directory with "/" at the end.
    func paths(in folder: String) -> [String] {
        Directory.names(in: directory).compactMap(LastGoodFiles.path)
            .filter { $0.hasPrefix(folder) && !$0.dropFirst(folder.count).contains("/") }.sorted()
    }

    /// Copies files, and removes the copies of all others. A copy that cannot be written is missing at the next start,
    /// no more.
    ///
    /// - Parameters:
    ///   - good: files that were just read without a fault.
    ///   - kept: further files whose copies stay.
    func renew(_ good: [String], keeping kept: [String]) {
        try? Directory.makeParent(of: "\(directory)/-")
        let names = Set((good + kept).map(LastGoodFiles.name))
        for name in Directory.names(in: directory) where !names.contains(name) {
            try? FileReplacement.remove("\(directory)/\(name)")
        }
        var room = LastGoodFiles.maxBytes
        for path in kept { room -= copy(of: path).flatMap { try? FileStatus(at: $0).size } ?? 0 }
        for path in good.sorted() where room > 0 {
            guard let copy = copy(of: path) else { continue }
            room -= (try? FileCopy.renew(copy, of: path, maxBytes: room, by: "\(directory)/new")) ?? 0
        }
    }

    // MARK: names

    /// Returns a file name for the path: without "/", and readable for an operator.
    private static func name(of path: String) -> String {
        path.replacing("%", with: "%25").replacing("/", with: "%2F")
    }

    private static func path(of name: String) -> String {
        name.replacing("%2F", with: "/").replacing("%25", with: "%")
    }
}
