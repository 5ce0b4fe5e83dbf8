// Makes the kernel resolve a neighbour's hardware address, which it does only when it has a packet to send.

package import DNSWire
import Glibc
import LinuxIO

extension RouteWatch {
    /// The port of the service discard (RFC 863): the peer drops the datagram or reports a closed port; both suffice.
    private static let discardPort: UInt16 = 9

    /// Sends one empty datagram. Failures are ignored: the datagram is a hint.
    package static func solicit(_ gateway: Address, link: Int) {
        let interface = Int32(truncatingIfNeeded: link)
        let scopeID = gateway.isLinkLocal6 ? UInt32(bitPattern: interface) : 0
        let peer = SocketAddress(gateway, port: discardPort, scopeID: scopeID)
        guard let socket = try? FileDescriptor(socketOf: peer.family, type: SOCK_DGRAM) else { return }
        // If the kernel does not allow the binding, the route table selects the link.
        try? socket.setOption(SOL_SOCKET, SO_BINDTOIFINDEX, to: interface)
        guard (try? socket.connectSocket(to: peer)) == true else { return }
        _ = send(socket.raw, nil, 0, Int32(MSG_NOSIGNAL))
    }
}
