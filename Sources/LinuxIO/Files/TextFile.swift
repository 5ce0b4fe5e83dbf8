// Reads small files completely: settings, resolv.conf, hosts, /proc. Every read has a size limit.

import Glibc

package enum TextFile {
    /// - Throws: ENOENT, EACCES, EISDIR and the like; EFBIG if the file has more than `maxBytes` bytes.
    package static func read(_ path: String, maxBytes: Int) throws(SystemError) -> [UInt8] {
        try readWithRights(path, maxBytes: maxBytes).content
    }

    /// Like `read`, and returns the rights of the file that was read, even if the path was replaced meanwhile.
    package static func readWithRights(
        _ path: String, maxBytes: Int
    ) throws(SystemError) -> (content: [UInt8], rights: FileRights) {
        let descriptor = try opened(path)
        var status = stat()
        try SystemCall.run("fstat") { unsafe fstat(descriptor.raw, &status) }
        var content: [UInt8] = []
        try readPieces(descriptor, maxBytes: maxBytes) { content += $0 }
        return (content, FileRights(status))
    }

    /// Throws unless the path has a regular file or a directory. Call it before a file is opened that may be of another
    /// kind by mistake: to open some devices has effects.
    ///
    /// - Throws: EINVAL for a FIFO, a device or a socket; ENOENT, EACCES and the like.
    package static func requireFile(_ path: String) throws(SystemError) {
        let status = try FileStatus(at: path)
        guard status.isRegular || status.isDirectory else { throw SystemError(call: "open", code: EINVAL) }
    }

    /// Reads a file in pieces of 16 KiB, so that a large one takes no memory.
    ///
    /// - Throws: as `read`, after pieces of at most `maxBytes` bytes.
    package static func readPieces(
        _ path: String, maxBytes: Int, _ take: ([UInt8]) -> Void
    ) throws(SystemError) {
        try readPieces(try opened(path), maxBytes: maxBytes, take)
    }

    private static func readPieces(
        _ descriptor: borrowing FileDescriptor, maxBytes: Int, _ take: ([UInt8]) -> Void
    ) throws(SystemError) {
        var count = 0
        while count <= maxBytes {
            let wanted = min(chunkBytes, maxBytes + 1 - count)
            let chunk = try unsafe SystemCall.bytes("read", maxBytes: wanted) {
                unsafe Glibc.read(descriptor.raw, $0, $1)
            }
            guard let chunk, !chunk.isEmpty else { return }
            count += chunk.count
            take(chunk)
        }
        throw SystemError(call: "read", code: EFBIG)
    }

    /// Opens the file without blocking, so that a FIFO in place of a file cannot block the process.
    private static func opened(_ path: String) throws(SystemError) -> FileDescriptor {
        guard !path.utf8.contains(0) else { throw SystemError(call: "open", code: ENOENT) }
        return FileDescriptor(
            owning: try SystemCall.run("open") { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) })
    }

    /// Bytes per read. Files in /proc report no size.
    private static let chunkBytes = 16 * 1024
}
