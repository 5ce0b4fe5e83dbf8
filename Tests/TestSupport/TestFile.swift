// Files that tests read and fuzzers replay. They are read whole; a missing one is an error with its path.

import Glibc

package enum TestFile {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package static func bytes(at path: String) throws -> [UInt8] {
        guard let file = unsafe fopen(path, "rb") else { throw Failure(description: "cannot open \(path)") }
        defer { unsafe fclose(file) }
        var bytes: [UInt8] = []
        var chunk: [UInt8] = Array(repeating: 0, count: 65_536)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe fread($0.baseAddress, 1, $0.count, file) }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }

    /// The names in a folder, sorted, without those that begin with a dot.
    package static func names(in folder: String) throws -> [String] {
        guard let directory = unsafe opendir(folder) else { throw Failure(description: "cannot open \(folder)") }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    /// The folder of a source file, given as `#filePath`.
    package static func folder(of filePath: String) -> String {
        filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    }
}
