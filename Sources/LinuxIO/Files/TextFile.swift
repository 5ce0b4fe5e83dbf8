// Reads small files completely: settings, resolv.conf, hosts, /proc. Every read has a size limit.

import Glibc

package enum TextFile {
    /// - Throws: ENOENT, EACCES, EISDIR and the like; EFBIG if the file has more than `maxBytes` bytes.
    package static func read(_ path: String, maxBytes: Int) throws(SystemError) -> [UInt8] {
        try readWithAccess(path, maxBytes: maxBytes).content
    }

    /// Like `read`, and returns the permissions of the file that was read, even if the path was replaced meanwhile.
    package static func readWithAccess(
        _ path: String, maxBytes: Int
    ) throws(SystemError) -> (content: [UInt8], access: FileAccess) {
        guard !path.utf8.contains(0) else { throw SystemError(call: "open", code: ENOENT) }
        // Non-blocking, so that a FIFO in place of a file cannot block the process.
        let opened = try SystemCall.run("open") { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        let descriptor = FileDescriptor(owning: opened)
        var status = stat()
        try SystemCall.run("fstat") { unsafe fstat(descriptor.raw, &status) }
        let access = FileAccess(ownerID: status.st_uid, groupID: status.st_gid, mode: status.st_mode)
        var content: [UInt8] = []
        while content.count <= maxBytes {
            let wanted = min(chunkBytes, maxBytes + 1 - content.count)
            let chunk = try unsafe SystemCall.bytes("read", maxBytes: wanted) {
                unsafe Glibc.read(descriptor.raw, $0, $1)
            }
            guard let chunk, !chunk.isEmpty else { return (content, access) }
            content += chunk
        }
        throw SystemError(call: "read", code: EFBIG)
    }

    /// Files in /proc report no size.
    private static let chunkBytes = 16 * 1024
}

/// Owner and read permissions of a file.
package struct FileAccess: Equatable, Sendable {
    package let ownerID: UInt32
    package let groupID: UInt32
    package let isReadableByGroup: Bool
    package let isReadableByOthers: Bool

    package init(ownerID: UInt32, groupID: UInt32, mode: UInt32) {
        self.ownerID = ownerID
        self.groupID = groupID
        isReadableByGroup = mode & 0o040 != 0
        isReadableByOthers = mode & 0o004 != 0
    }
}
