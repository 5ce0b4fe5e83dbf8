// A UNIX stream socket that listens at a path, and leaves no file behind. What callers may do is decided by the
// owner, from their credentials.

import CLinux
import Glibc

package final class LocalSocket: Sendable {
    package let descriptor: FileDescriptor
    private let path: String
    private let file: FileIdentity

    /// Each client is served in microseconds, but a burst must fit: a connect with a time-out does not wait for room,
    /// it fails with EAGAIN.
    static let backlog: Int32 = 128

    /// Removes a socket file without a listener, which a crash has left.
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
        // No client can connect before listen, so the mode is right before the first client.
        try SystemCall.run("chmod") { unsafe chmod(path, mode) }
        file = try FileIdentity(ofLinkAt: path)
        try SystemCall.run("listen") { listen(descriptor.raw, LocalSocket.backlog) }
        self.descriptor = descriptor
        self.path = path
    }

    /// The file may have been replaced by a successor's; that one stays.
    deinit {
        if let now = try? FileIdentity(ofLinkAt: path), now == file { _ = unsafe unlink(path) }
    }

    package struct Peer: Equatable, Sendable {
        package let processID: Int32
        package let userID: UInt32
        package let groupID: UInt32
    }

    /// - Returns: the next waiting connection and its peer's credentials at connect time, or nil if none waits.
    /// - Throws: EMFILE and the like, see `Listener.accept`.
    package func accept() throws(SystemError) -> (socket: StreamSocket, peer: Peer)? {
        var ignored = SocketAddress.Kernel()
        guard let accepted = try descriptor.acceptConnection(&ignored) else { return nil }
        var (process, user, group): (pid_t, uid_t, gid_t) = (0, 0, 0)
        try SystemCall.run("getsockopt") {
            unsafe clinux_peer_credentials(accepted.raw, &process, &user, &group)
        }
        return (StreamSocket(accepted: accepted), Peer(processID: process, userID: user, groupID: group))
    }
}

/// Device and inode: the same file under the same path, not a successor.
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
    /// Size of `sun_path`, its final zero byte counted.
    private static let maxPathBytes = 108
    private static let pathOffset = 2

    init(_ path: String) throws(SystemError) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw SystemError(call: "bind", code: EINVAL) }
        guard path.utf8.count < LocalAddress.maxPathBytes else { throw SystemError(call: "bind", code: ENAMETOOLONG) }
        self.path = Array(path.utf8)
    }

    /// The path of a service manager's socket; "@" stands for the zero byte before a name that is no file (unix(7)).
    init(notice path: String) throws(SystemError) {
        try self.init(path)
        guard path.hasPrefix("@") else { return }
        self.path[0] = 0
    }

    /// One datagram.
    func send(_ bytes: [UInt8], from descriptor: borrowing FileDescriptor) throws(SystemError) {
        var kernel = kernel
        let raw = descriptor.raw
        try SystemCall.run("sendto") {
            unsafe kernel.withPointer { address, length in
                unsafe bytes.withUnsafeBytes {
                    unsafe sendto(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), address, length)
                }
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

    /// True for a socket file without an owner: the kernel refuses the connection. Any other outcome: a live owner, or
    /// a file that is not ours to remove.
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
        // A path ends with a zero byte; a name that begins with one ends where its length says.
        kernel.length = socklen_t(LocalAddress.pathOffset + path.count + (path.first == 0 ? 0 : 1))
        return kernel
    }
}
