// A listening TCP socket. Its owner limits the connections.

import CLinux
package import DNSWire
import Glibc

package final class Listener: Sendable {
    package let descriptor: FileDescriptor

    /// Connections that the kernel queues until they are accepted. Further ones are dropped, and their clients retry.
    /// The system's limit (net.core.somaxconn) may be lower.
    static let backlog: Int32 = 256

    /// Listens on `address`. SO_REUSEADDR allows a restart while old connections are in TIME-WAIT; a second listener is
    /// still refused.
    ///
    /// - Parameter mayBeAbsent: binds also if no interface has the address.
    /// - Throws: EADDRINUSE, EADDRNOTAVAIL, EACCES (port under 1024), EAFNOSUPPORT (no IPv6).
    package convenience init(on address: SocketAddress, mayBeAbsent: Bool = false) throws(SystemError) {
        let descriptor = try FileDescriptor(socketOf: address.family, type: SOCK_STREAM)
        try descriptor.setOption(SOL_SOCKET, SO_REUSEADDR, to: 1)
        if address.isIPv6 { try descriptor.setOption(Int32(IPPROTO_IPV6), IPV6_V6ONLY, to: 1) }
        if mayBeAbsent { try descriptor.mayBindAbsentAddress(isIPv6: address.isIPv6) }
        try descriptor.bindSocket(to: address)
        try SystemCall.run("listen") { listen(descriptor.raw, Listener.backlog) }
        try self.init(listening: descriptor)
    }

    /// Takes over a listening socket of the service manager.
    convenience init(inherited descriptor: consuming FileDescriptor) throws(SystemError) {
        try descriptor.becomeOurs()
        try self.init(listening: descriptor)
    }

    /// Accepted sockets inherit TCP_NODELAY, which saves a call for each.
    private init(listening descriptor: consuming FileDescriptor) throws(SystemError) {
        try descriptor.sendWithoutDelay()
        self.descriptor = descriptor
    }

    package func localAddress() throws(SystemError) -> SocketAddress {
        try descriptor.localAddress()
    }

    /// - Returns: the next queued connection and its peer; nil if there is none.
    /// - Throws: EMFILE, ENFILE, ENOBUFS, ENOMEM. The connection stays queued and the descriptor readable: stop
    ///   watching it until a connection is closed, or the loop spins.
    package func accept() throws(SystemError) -> (socket: StreamSocket, peer: SocketAddress)? {
        var kernel = SocketAddress.Kernel()
        guard let descriptor = try descriptor.acceptConnection(&kernel) else { return nil }
        guard let peer = SocketAddress(kernel.storage) else {
            throw SystemError(call: "accept4", code: EAFNOSUPPORT)
        }
        return (StreamSocket(accepted: descriptor), peer)
    }
}

extension FileDescriptor {
    /// Skips connections that failed while queued: accept(2) returns their errors, which do not concern the listener.
    /// The loop ends because each such error removes one connection from the queue.
    func acceptConnection(_ peer: inout SocketAddress.Kernel) throws(SystemError) -> FileDescriptor? {
        while true {
            do throws(SystemError) {
                peer = SocketAddress.Kernel()
                let accepted = try SystemCall.attempt("accept4") {
                    unsafe clinux_accept(raw, &peer.storage, &peer.length)
                }
                return accepted.map { FileDescriptor(owning: $0) }
            } catch {
                guard FileDescriptor.deathsInBacklog.contains(error.code) else { throw error }
            }
        }
    }

    private static let deathsInBacklog: Set<Int32> = [
        ECONNABORTED, EPROTO, ENOPROTOOPT, ENETDOWN, ENETUNREACH, EHOSTDOWN, EHOSTUNREACH, ENONET, EPERM,
    ]
}
