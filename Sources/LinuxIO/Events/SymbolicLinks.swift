// Resolves a path into all directory entries that determine its target: its links, and the file itself.

import DNSWire
import Glibc

/// An entry of a directory, which may or may not exist.
struct DirectoryEntry: Hashable {
    let directory: String
    let name: String
}

package enum SymbolicLinks {
    /// Bound on links, the same as the kernel's: more links in one path count as a loop (path_resolution(7)).
    static let maxLinks = 40

    /// Follows an absolute path. Returns each symbolic link on the way and, last, the file itself or the first missing
    /// entry.
    static func entries(of path: String) -> [DirectoryEntry] {
        var found: [DirectoryEntry] = []
        var links = 0
        var directory = "/"
        var rest = components(of: path)
        while let name = rest.popLast() {
            if name == "." { continue }
            if name == ".." {
                directory = parent(of: directory)
                continue
            }
            let entry = DirectoryEntry(directory: directory, name: name)
            let whole = directory == "/" ? "/" + name : directory + "/" + name
            if let target = target(ofLinkAt: whole) {
                found.append(entry)
                links += 1
                guard links <= maxLinks else { return found }
                if target.utf8.first == UInt8(ascii: "/") { directory = "/" }
                rest += components(of: target)
            } else if rest.isEmpty || !exists(whole) {
                return found + [entry]
            } else {
                directory = whole
            }
        }
        return found
    }

    /// The components in reverse order.
    private static func components(of path: String) -> [String] {
        path.split(separator: "/").reversed().map(String.init)
    }

    private static func parent(of directory: String) -> String {
        let kept = directory.split(separator: "/").dropLast()
        return "/" + kept.joined(separator: "/")
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Returns nil if the path is not a symbolic link.
    package static func target(ofLinkAt path: String) -> String? {
        targetBytes(ofLinkAt: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the raw bytes of the target: at most PATH_MAX, without a zero byte, in an unknown encoding.
    static func targetBytes(ofLinkAt path: String) -> [UInt8]? {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
            let length = unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                guard let start = text.baseAddress else { return 0 }
                return unsafe readlink(path, start, text.count)
            }
            count = max(length, 0)
        }
        return bytes.isEmpty ? nil : bytes
    }
}
