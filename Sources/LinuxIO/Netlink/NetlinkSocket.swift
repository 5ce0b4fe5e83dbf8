// A socket to a subsystem of the kernel (netlink(7)). Receives one datagram at a time into a fixed buffer, without
// parsing it.

import CLinux
import Glibc

package final class NetlinkSocket {
    private let socket: FileDescriptor
    /// The port by which the kernel marks notifications of changes that this socket requested.
    package let port: UInt32
    private var buffer = [UInt8](repeating: 0, count: NetlinkSocket.bufferBytes)

    /// Size of the buffer. The kernel fills at most 32 KiB at a time. The report of one interface with all its
    /// functions takes less.
    private static let bufferBytes = 64 * 1024

    /// - Parameters:
    ///   - subsystem: NETLINK_ROUTE and the like.
    ///   - groups: numbers of multicast groups to join, 1 to 32; none for a socket that sends requests.
    ///   - receiveBufferBytes: size of the receive buffer. Without CAP_NET_ADMIN, the system's limit
    ///     (net.core.rmem_max) may grant less.
    /// - Throws: EMFILE, ENFILE, ENOBUFS; EPERM for groups that need CAP_NET_ADMIN; EAFNOSUPPORT in a sandbox that does
    ///   not allow netlink.
    package init(subsystem: Int32, groups: [UInt32], receiveBufferBytes: Int32) throws(SystemError) {
        let socket = try FileDescriptor(socketOf: AF_NETLINK, type: SOCK_RAW, protocol: subsystem)
        if (try? socket.setOption(SOL_SOCKET, SO_RCVBUFFORCE, to: receiveBufferBytes)) == nil {
            try socket.setOption(SOL_SOCKET, SO_RCVBUF, to: receiveBufferBytes)
        }
        var address = sockaddr_nl()
        address.nl_family = UInt16(AF_NETLINK)
        address.nl_groups = groups.reduce(0) { $0 | 1 << ($1 - 1) }
        var length = socklen_t(MemoryLayout<sockaddr_nl>.size)
        let raw = socket.raw
        try SystemCall.run("bind") {
            unsafe NetlinkSocket.withPointer(to: &address) { unsafe bind(raw, $0, length) }
        }
        try SystemCall.run("getsockname") {
            unsafe NetlinkSocket.withPointer(to: &address) { unsafe getsockname(raw, $0, &length) }
        }
        self.socket = socket
        port = address.nl_pid
    }

    package var descriptor: Int32 { socket.raw }

    package enum Outcome {
        case received, nothing
        /// Messages were lost, because the receive buffer or a datagram was too large for its room.
        case lost
    }

    /// Receives one datagram, if there is one.
    ///
    /// - Parameter body: receives the datagram; an empty one if the sender is not the kernel.
    package func receive(_ body: (Span<UInt8>) -> Void) throws(SystemError) -> Outcome {
        var sender = sockaddr_nl()
        do throws(SystemError) {
            guard let result = try SystemCall.attempt("recvfrom", { receive(from: &sender) }) else { return .nothing }
            // With MSG_TRUNC the result is the full length.
            guard result <= buffer.count else { return .lost }
            let bytes = buffer
            // Privileged programs may send to this socket as well.
            body(bytes.span.extracting(first: sender.nl_pid == 0 ? result : 0))
            return .received
        } catch {
            guard error.code == ENOBUFS else { throw error }
            return .lost
        }
    }

    package func send(_ bytes: [UInt8]) throws(SystemError) {
        try SystemCall.run("send") { unsafe Glibc.send(socket.raw, bytes, bytes.count, 0) }
    }

    private func receive(from sender: inout sockaddr_nl) -> Int {
        var length = socklen_t(MemoryLayout<sockaddr_nl>.size)
        return unsafe NetlinkSocket.withPointer(to: &sender) {
            unsafe recvfrom(socket.raw, &buffer, buffer.count, Int32(MSG_TRUNC), $0, &length)
        }
    }

    private static func withPointer<Result>(
        to address: inout sockaddr_nl, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
    ) -> Result {
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0) }
        }
    }
}
