// UNIX sockets that keep the borders of messages (SOCK_SEQPACKET): a connection, and a socket that listens. They never
// block.

import DNSWire
import Glibc

package final class PacketSocket: Sendable {
    package let descriptor: FileDescriptor

    /// - Throws: ENOENT, ECONNREFUSED, EACCES; EAGAIN if too many connections wait there.
    package init(connectingTo path: String) throws(SystemError) {
        let descriptor = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_SEQPACKET)
        try LocalAddress(path).connect(descriptor)
        self.descriptor = descriptor
    }

    init(accepted descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    /// - Returns: false if the peer has not read so many messages that there is no room for this one.
    /// - Throws: EPIPE and the like: the peer has gone.
    package func send(_ message: [UInt8]) throws(SystemError) -> Bool {
        let raw = descriptor.raw
        return try SystemCall.attempt("send") {
            unsafe message.withUnsafeBytes { unsafe Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        } != nil
    }

    package enum Received: Equatable, Sendable {
        /// A longer message than the caller takes has another length than any valid one: it is cut at `maxBytes` + 1.
        case message([UInt8])
        case nothing
        case ended
    }

    package func receive(maxBytes: Int) throws(SystemError) -> Received {
        let raw = descriptor.raw
        let bytes = try unsafe SystemCall.bytes("recv", maxBytes: maxBytes + 1) { unsafe recv(raw, $0, $1, 0) }
        guard let bytes else { return .nothing }
        return bytes.isEmpty ? .ended : .message(bytes)
    }
}

package final class PacketListener: Sendable {
    package let descriptor: FileDescriptor
    private static let backlog: Int32 = 8

    /// Listens at a path, in place of a socket there.
    ///
    /// - Parameters:
    ///   - group: the group whose members may connect.
    package init(path: String, group: UInt32) throws(SystemError) {
        let address = try LocalAddress(path)
        let descriptor = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_SEQPACKET)
        var status = stat()
        if unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK {
            try SystemCall.run("unlink") { unsafe unlink(path) }
        }
        try address.bind(descriptor)
        // No client can connect before listen.
        if geteuid() == 0 { try SystemCall.run("chown") { unsafe lchown(path, 0, group) } }
        try SystemCall.run("chmod") { unsafe chmod(path, 0o660) }
        try SystemCall.run("listen") { listen(descriptor.raw, PacketListener.backlog) }
        self.descriptor = descriptor
    }

    /// Takes over the one socket that the service manager passes (sd_listen_fds(3)); nil if it passes none. To be
    /// called once.
    package init?(inherited take: (String) -> String? = Environment.take) throws(SystemError) {
        let (process, count) = (take("LISTEN_PID"), take("LISTEN_FDS"))
        guard process.flatMap({ Int32($0) }) == getpid(), count == "1",
            fcntl(InheritedSockets.first, F_GETFD) >= 0
        else { return nil }
        descriptor = FileDescriptor(owning: InheritedSockets.first)
        guard try descriptor.option(SOL_SOCKET, SO_TYPE) == Int32(SOCK_SEQPACKET.rawValue) else {
            throw SystemError(call: "getsockopt", code: EPROTOTYPE)
        }
        try descriptor.becomeOurs()
    }

    /// Returns the owner of the socket's file.
    ///
    /// - Throws: ENOENT if it has none.
    package func ownerID() throws(SystemError) -> UInt32 {
        try FileStatus(at: LocalAddress.path(of: descriptor)).ownerID
    }

    /// Returns nil if no connection waits.
    package func accept() throws(SystemError) -> (PacketSocket, LocalPeer)? {
        var ignored = SocketAddress.Kernel()
        guard let accepted = try descriptor.acceptConnection(&ignored) else { return nil }
        let peer = try LocalPeer(accepted)
        return (PacketSocket(accepted: accepted), peer)
    }
}
