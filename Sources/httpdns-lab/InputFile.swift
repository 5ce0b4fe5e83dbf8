// Reads a whole small file as text. It waits for what a FIFO has yet to bring, so that a shell can make the file.

import Glibc

enum InputFile {
    struct Failure: Error {
        let reason: String
    }

    static func read(_ path: String, maxBytes: Int) throws(Failure) -> String {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw systemFailure(path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { throw systemFailure(path) }
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
            guard bytes.count <= maxBytes else { throw Failure(reason: "\(path): more than \(maxBytes) bytes") }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Failure(reason: "\(path): not UTF-8") }
        return text
    }

    private static func systemFailure(_ path: String) -> Failure {
        Failure(reason: "\(path): \(unsafe String(cString: strerror(errno)))")
    }
}
