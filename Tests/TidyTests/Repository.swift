// All files of the repository that could be committed, read once.

import Glibc
import TestSupport

struct Repository {
    /// The names at the top, without build folders and git's own.
    let topLevel: [String]
    let files: [SourceFile]

    private struct NotAFolder: Error {}

    private static let ignored = [".git", "Package.resolved"]

    init() throws {
        let top = TestFile.folder(of: TestFile.folder(of: TestFile.folder(of: #filePath)))
        topLevel = try Repository.names(in: top).filter { name in
            !Repository.ignored.contains(name) && !name.hasPrefix(".build")
        }
        var files: [SourceFile] = []
        for name in topLevel { try Repository.read(top, name, into: &files) }
        self.files = files
    }

    private static func read(_ top: String, _ path: String, into files: inout [SourceFile]) throws {
        // The inputs of fuzzers are bytes, whatever they look like.
        guard path != "Tests/Fuzz/Corpus" else { return }
        if let names = try? names(in: top + "/" + path) {
            for name in names { try read(top, path + "/" + name, into: &files) }
        } else {
            let bytes = try TestFile.bytes(at: top + "/" + path)
            guard !bytes.contains(0) else { return }
            files.append(SourceFile(path: path, text: String(decoding: bytes, as: UTF8.self)))
        }
    }

    /// Throws if the path is not a folder.
    private static func names(in folder: String) throws -> [String] {
        guard let directory = unsafe opendir(folder) else {
            throw NotAFolder()
        }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
