// A UNIX stream socket that listens at a path and removes its file at the end. The owner checks the callers'
// credentials.

import CLinux
import DNSWire
import Glibc

package final class LocalSocket: Sendable {
    package let descriptor: FileDescriptor
    private let path: String
    private let file: FileIdentity

    /// Connections that the kernel queues. Clients are served in microseconds, but a burst must fit: a connect with a
    /// timeout does not wait for room but fails with EAGAIN.
    static let backlog: Int32 = 128

    /// Listens at a path. Removes a stale socket file of a crashed process.
    ///
    /// - Parameter mode: permission bits of the socket file; connecting needs the write bit.
    /// - Throws: EADDRINUSE if a process listens at the path or it is no socket, ENAMETOOLONG over 107 bytes, ENOENT,
    ///   EACCES.
    package init(path: String, mode: UInt32) throws(SystemError) {
        let address = try LocalAddress(path)
        let descriptor = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_STREAM)
        do throws(SystemError) {
            try address.bind(descriptor)
        } catch {
            guard error.code == EADDRINUSE, address.isStaleSocket else { throw error }
            try SystemCall.run("unlink") { unsafe unlink(path) }
            try address.bind(descriptor)
        }
        // No client can connect before listen, so the mode is set in time.
        try SystemCall.run("chmod") { unsafe chmod(path, mode) }
        file = try FileIdentity(ofLinkAt: path)
        try SystemCall.run("listen") { listen(descriptor.raw, LocalSocket.backlog) }
        self.descriptor = descriptor
        self.path = path
    }

    /// Removes the socket file unless a successor has replaced it.
    deinit {
        if let now = try? FileIdentity(ofLinkAt: path), now == file { _ = unsafe unlink(path) }
    }

    /// - Returns: the next queued connection and its peer's credentials at connect time; nil if there is none.
    /// - Throws: EMFILE and the like, see `Listener.accept`.
    package func accept() throws(SystemError) -> (socket: StreamSocket, peer: LocalPeer)? {
        var ignored = SocketAddress.Kernel()
        guard let accepted = try descriptor.acceptConnection(&ignored) else { return nil }
        let peer = try LocalPeer(accepted)
        return (StreamSocket(accepted: accepted), peer)
    }
}

/// The other end of a UNIX connection, when it connected.
package struct LocalPeer: Equatable, Sendable {
    package let processID: Int32
    package let userID: UInt32
    package let groupID: UInt32

    init(_ socket: borrowing FileDescriptor) throws(SystemError) {
        let raw = socket.raw
        var (process, user, group): (pid_t, uid_t, gid_t) = (0, 0, 0)
        try SystemCall.run("getsockopt") { unsafe clinux_peer_credentials(raw, &process, &user, &group) }
        (processID, userID, groupID) = (process, user, group)
    }
}

/// Device and inode, which distinguish the file from a successor's at the same path.
private struct FileIdentity: Equatable {
    let device: dev_t
    let inode: ino_t

    init(ofLinkAt path: String) throws(SystemError) {
        var status = stat()
        try SystemCall.run("lstat") { unsafe lstat(path, &status) }
        device = status.st_dev
        inode = status.st_ino
    }
}

/// A path that fits into `sockaddr_un`.
struct LocalAddress {
    private var path: [UInt8]
    /// Size of `sun_path`, including the final zero byte.
    private static let maxPathBytes = 108
    private static let pathOffset = 2

    init(_ path: String) throws(SystemError) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw SystemError(call: "bind", code: EINVAL) }
        guard path.utf8.count < LocalAddress.maxPathBytes else { throw SystemError(call: "bind", code: ENAMETOOLONG) }
        self.path = Array(path.utf8)
    }

    /// Address of a service manager's socket. A leading "@" stands for the zero byte of an abstract address (unix(7)).
    init(notice path: String) throws(SystemError) {
        try self.init(path)
        guard path.hasPrefix("@") else { return }
        self.path[0] = 0
    }

    /// Returns the path that a socket is bound to. The path of an abstract address starts with a zero byte.
    static func path(of descriptor: borrowing FileDescriptor) throws(SystemError) -> String {
        var kernel = SocketAddress.Kernel()
        let raw = descriptor.raw
        try SystemCall.run("getsockname") { unsafe kernel.withPointer { unsafe getsockname(raw, $0, &$1) } }
        let end = min(Int(kernel.length), pathOffset + maxPathBytes)
        return unsafe withUnsafeBytes(of: &kernel.storage) { bytes in
            let path = unsafe bytes[min(pathOffset, end)..<end]
            return unsafe String(decoding: path.last == 0 ? path.dropLast() : path, as: UTF8.self)
        }
    }

    /// Sends one datagram.
    ///
    /// - Parameters:
    ///   - bytes: at least one.
    ///   - passed: open descriptors of which the receiver gets copies, at most `clinux_max_passed`.
    func send(
        _ bytes: [UInt8], with passed: [Int32] = [], from descriptor: borrowing FileDescriptor
    ) throws(SystemError) {
        var kernel = kernel
        let raw = descriptor.raw
        try SystemCall.run("sendmsg") {
            unsafe kernel.withPointer { address, length in
                unsafe clinux_send_local(raw, address, length, bytes, bytes.count, passed, Int32(passed.count))
            }
        }
    }

    func bind(_ descriptor: borrowing FileDescriptor) throws(SystemError) {
        var kernel = kernel
        let raw = descriptor.raw
        try SystemCall.run("bind") { unsafe kernel.withPointer { unsafe Glibc.bind(raw, $0, $1) } }
    }

    func connect(_ descriptor: borrowing FileDescriptor) throws(SystemError) {
        var kernel = kernel
        let raw = descriptor.raw
        try SystemCall.run("connect") { unsafe kernel.withPointer { unsafe Glibc.connect(raw, $0, $1) } }
    }

    /// Whether the socket file has no owner: the kernel refuses the connection. Any other outcome means a live owner or
    /// a foreign file.
    var isStaleSocket: Bool {
        do throws(SystemError) {
            try connect(FileDescriptor(socketOf: AF_UNIX, type: SOCK_STREAM))
            return false
        } catch {
            return error.code == ECONNREFUSED && isSocket
        }
    }

    private var isSocket: Bool {
        var status = stat()
        return unsafe lstat(String(decoding: path, as: UTF8.self), &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    private var kernel: SocketAddress.Kernel {
        var kernel = SocketAddress.Kernel()
        unsafe withUnsafeMutableBytes(of: &kernel.storage) { bytes in
            unsafe bytes.storeBytes(of: sa_family_t(AF_UNIX), as: sa_family_t.self)
            for (index, byte) in path.enumerated() { unsafe bytes[LocalAddress.pathOffset + index] = byte }
        }
        // A path ends with a zero byte. The length of an abstract address defines its end.
        kernel.length = socklen_t(LocalAddress.pathOffset + path.count + (path.first == 0 ? 0 : 1))
        return kernel
    }
}
