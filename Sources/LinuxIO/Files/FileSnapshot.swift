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
        let rights = FileRights(userID: status.st_uid, groupID: status.st_gid, mode: status.st_mode & 0o7777)
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

    package init(userID: UInt32, groupID: UInt32, mode: UInt32) {
        self.userID = userID
        self.groupID = groupID
        self.mode = mode
    }
}
