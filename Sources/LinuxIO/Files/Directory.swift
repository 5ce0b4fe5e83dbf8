// Lists and resolves directories, and creates one for a socket.

import Glibc

package enum Directory {
    /// Makes the parent directory of `path` with mode 755 if only this directory is missing.
    package static func makeParent(of path: String) throws(SystemError) {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return }
        do throws(SystemError) {
            try SystemCall.run("mkdir") { unsafe mkdir(String(path[..<slash]), 0o755) }
        } catch {
            guard error.code == EEXIST else { throw error }
        }
    }

    /// Returns the absolute path without links, ".", ".." and repeated slashes (realpath(3)); nil if it is missing or
    /// cannot be examined.
    package static func resolved(_ path: String) -> String? {
        guard !path.utf8.contains(0), let found = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    /// Returns the names without "." and ".."; empty if the directory is missing or unreadable.
    package static func names(in path: String) -> [String] { (try? readableNames(in: path)) ?? [] }

    /// Returns the names without "." and "..".
    ///
    /// - Throws: ENOENT, ENOTDIR, EACCES and the like.
    package static func readableNames(in path: String) throws(SystemError) -> [String] {
        guard !path.utf8.contains(0), let stream = unsafe opendir(path) else {
            throw SystemError(call: "opendir", code: path.utf8.contains(0) ? ENOENT : errno)
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 1) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
