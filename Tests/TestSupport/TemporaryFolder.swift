// A folder of its own for a test; it is removed with its files.

import Glibc

package final class TemporaryFolder {
    package let path: String

    package init() {
        path = TemporaryFolder.make()
    }

    /// Makes a new folder that the caller removes.
    package static func make() -> String {
        var template = Array("/tmp/httpdnsd-test-XXXXXX".utf8CString)
        precondition(unsafe mkdtemp(&template) != nil, "no temporary directory")
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in names { _ = unsafe Glibc.remove(self(name)) }
        _ = unsafe rmdir(path)
    }

    package func callAsFunction(_ name: String) -> String { path + "/" + name }

    package var names: [String] { (try? TestFile.names(in: path)) ?? [] }

    /// Writes to the existing file, as `>` does in a shell.
    package func write(_ bytes: [UInt8], to path: String) {
        guard let file = unsafe fopen(path, "wb") else { preconditionFailure("cannot write \(path)") }
        defer { unsafe fclose(file) }
        precondition(unsafe fwrite(bytes, 1, bytes.count, file) == bytes.count, "cannot write all of \(path)")
    }
}
