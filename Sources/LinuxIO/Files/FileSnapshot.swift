// The object at a path, without following a link: for callers that restore it later.

import DNSWire
import Glibc

package enum FileSnapshot: Equatable, Sendable {
    case absent
    case file([UInt8], FileRights)
    case link(target: [UInt8], FileRights)
    case directory
    /// A device, a socket or another kind.
    case other

    /// - Throws: EACCES, ELOOP and the like; EFBIG when a file has more than `maxBytes` bytes.
    package init(at path: String, maxBytes: Int) throws(SystemError) {
        var status = stat()
        do throws(SystemError) {
            try SystemCall.run("lstat") { unsafe lstat(path, &status) }
        } catch {
            guard error.code == ENOENT || error.code == ENOTDIR else { throw error }
            self = .absent
            return
        }
        let rights = FileRights(status)
        switch status.st_mode & S_IFMT {
        case S_IFREG: self = .file(try TextFile.read(path, maxBytes: maxBytes), rights)
        case S_IFDIR: self = .directory
        case S_IFLNK:
            guard let target = SymbolicLinks.targetBytes(ofLinkAt: path) else {
                throw SystemError(call: "readlink", code: ENOENT)
            }
            self = .link(target: target, rights)
        default: self = .other
        }
    }

    /// The content of a file; nil for other objects.
    package var bytes: [UInt8]? { if case .file(let bytes, _) = self { bytes } else { nil } }

    /// The target of a link as raw bytes, whose encoding is unknown; nil for other objects.
    package var target: [UInt8]? { if case .link(let target, _) = self { target } else { nil } }

    /// Returns the final target of a link, even if it does not exist; nil if the path is not a link.
    package static func destination(ofLinkAt path: String) -> String? {
        guard SymbolicLinks.target(ofLinkAt: path) != nil, let last = SymbolicLinks.entries(of: path).last else {
            return nil
        }
        return last.directory == "/" ? "/" + last.name : last.directory + "/" + last.name
    }
}

/// Owner of a file, and the twelve lower bits of its mode.
package struct FileRights: Equatable, Sendable {
    package let userID: UInt32
    package let groupID: UInt32
    package let mode: UInt32

    init(_ status: stat) {
        (userID, groupID, mode) = (status.st_uid, status.st_gid, status.st_mode & 0o7777)
    }

    package init(userID: UInt32, groupID: UInt32, mode: UInt32) {
        self.userID = userID
        self.groupID = groupID
        self.mode = mode
    }

    package var isReadableByGroup: Bool { mode & 0o040 != 0 }
    package var isReadableByOthers: Bool { mode & 0o004 != 0 }
}
