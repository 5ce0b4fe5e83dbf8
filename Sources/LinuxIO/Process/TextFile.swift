// Small files, read whole: settings, resolv.conf, hosts, /proc. Never a way around a bound.

import Glibc

package enum TextFile {
    /// - Throws: ENOENT, EACCES, EISDIR and the like; EFBIG when the file has more than `maxBytes` bytes.
    package static func read(_ path: String, maxBytes: Int) throws(SystemError) -> [UInt8] {
        guard !path.utf8.contains(0) else { throw SystemError(call: "open", code: ENOENT) }
        // Non-blocking, so that a FIFO in the place of a file cannot hold us.
        let opened = try SystemCall.run("open") { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        let descriptor = FileDescriptor(owning: opened)
        var content: [UInt8] = []
        while content.count <= maxBytes {
            let wanted = min(chunkBytes, maxBytes + 1 - content.count)
            let chunk = try unsafe SystemCall.bytes("read", maxBytes: wanted) {
                unsafe Glibc.read(descriptor.raw, $0, $1)
            }
            guard let chunk, !chunk.isEmpty else { return content }
            content += chunk
        }
        throw SystemError(call: "read", code: EFBIG)
    }

    /// Files in /proc have no size to ask for beforehand.
    private static let chunkBytes = 16 * 1024
}
