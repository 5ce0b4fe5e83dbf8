// A socket to rtnetlink. Receives one datagram at a time into a fixed buffer, without parsing it.

import CLinux
import Glibc
import LinuxIO

final class NetlinkSocket {
    private let socket: FileDescriptor
    private var buffer = [UInt8](repeating: 0, count: NetlinkSocket.bufferBytes)

    /// The kernel fills at most 32 KiB at a time. The report of one interface with all its functions takes less.
    private static let bufferBytes = 64 * 1024

    /// - Parameters:
    ///   - groups: multicast groups to join; none for a socket that sends requests.
    ///   - receiveBufferBytes: size of the receive buffer. The system's limit (net.core.rmem_max) may grant less.
    /// - Throws: EMFILE, ENFILE, ENOBUFS; EAFNOSUPPORT in a sandbox that does not allow netlink.
    init(groups: [rtnetlink_groups], receiveBufferBytes: Int32) throws(SystemError) {
        let socket = try FileDescriptor(socketOf: AF_NETLINK, type: SOCK_RAW)
        try socket.setOption(SOL_SOCKET, SO_RCVBUF, to: receiveBufferBytes)
        var address = sockaddr_nl()
        address.nl_family = UInt16(AF_NETLINK)
        address.nl_groups = groups.reduce(0) { $0 | 1 << ($1.rawValue - 1) }
        try SystemCall.run("bind") {
            unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(socket.raw, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
                }
            }
        }
        self.socket = socket
    }

    var descriptor: Int32 { socket.raw }

    enum Outcome {
        case received, nothing
        /// Messages were lost, because the receive buffer or a datagram was too large for its room.
        case lost
    }

    /// Receives one datagram, if there is one.
    ///
    /// - Parameter body: receives the datagram; an empty one if the sender is not the kernel.
    func receive(_ body: (Span<UInt8>) -> Void) throws(SystemError) -> Outcome {
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

    func send(_ bytes: [UInt8]) throws(SystemError) {
        try SystemCall.run("send") { unsafe Glibc.send(socket.raw, bytes, bytes.count, 0) }
    }

    private func receive(from sender: inout sockaddr_nl) -> Int {
        var length = socklen_t(MemoryLayout<sockaddr_nl>.size)
        return unsafe withUnsafeMutablePointer(to: &sender) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe recvfrom(socket.raw, &buffer, buffer.count, Int32(MSG_TRUNC), $0, &length)
            }
        }
    }
}
