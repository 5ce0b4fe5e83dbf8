// A listening TCP socket. Its owner limits the connections.

import CLinux
import Glibc

package final class Listener: Sendable {
    package let descriptor: FileDescriptor

    /// Connections that the kernel holds until we accept them; more are dropped, and their clients try again. The
    /// system's own limit (net.core.somaxconn) may be lower.
    static let backlog: Int32 = 256

    /// SO_REUSEADDR allows a restart while old connections linger in TIME-WAIT; a second listener is still refused.
    ///
    /// - Throws: EADDRINUSE, EADDRNOTAVAIL, EACCES (port under 1024), EAFNOSUPPORT (no IPv6).
    package init(on address: SocketAddress) throws(SystemError) {
        let descriptor = try FileDescriptor(socketOf: address.family, type: SOCK_STREAM)
        try descriptor.setOption(SOL_SOCKET, SO_REUSEADDR, to: 1)
        if address.isIPv6 { try descriptor.setOption(Int32(IPPROTO_IPV6), IPV6_V6ONLY, to: 1) }
        try descriptor.bindSocket(to: address)
        try SystemCall.run("listen") { listen(descriptor.raw, Listener.backlog) }
        self.descriptor = descriptor
    }

    /// One that listens already, opened by the service manager.
    init(inherited descriptor: consuming FileDescriptor) throws(SystemError) {
        try descriptor.becomeOurs()
        self.descriptor = descriptor
    }

    package func localAddress() throws(SystemError) -> SocketAddress {
        try descriptor.localAddress()
    }

    /// - Returns: the next waiting connection and its peer, or nil when none waits.
    /// - Throws: EMFILE, ENFILE, ENOBUFS, ENOMEM. The connection then still waits and the descriptor stays readable:
    ///   stop watching it until a connection was closed, or the loop spins.
    package func accept() throws(SystemError) -> (socket: StreamSocket, peer: SocketAddress)? {
        var kernel = SocketAddress.Kernel()
        guard let descriptor = try descriptor.acceptConnection(&kernel) else { return nil }
        guard let peer = SocketAddress(kernel.storage) else {
            throw SystemError(call: "accept4", code: EAFNOSUPPORT)
        }
        try descriptor.sendWithoutDelay()
        return (StreamSocket(accepted: descriptor), peer)
    }
}

extension FileDescriptor {
    /// Connections that died while they waited are passed over: accept(2) hands out their errors, and they say
    /// nothing about the listener. Ends because each such error takes one connection off the backlog.
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
