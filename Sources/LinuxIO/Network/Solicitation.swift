// Makes the kernel look for a neighbour's hardware address, which it does only when it has something to send.

import Glibc

extension RouteWatch {
    /// Discard (RFC 863): the peer drops the datagram or reports a closed port; both suffice.
    private static let discardPort: UInt16 = 9

    /// One empty datagram. Failures are ignored: it is a hint.
    package static func solicit(_ gateway: SocketAddress, link: Int32) {
        let peer = SocketAddress(
            high: gateway.high, low: gateway.low, isIPv6: gateway.isIPv6, port: discardPort,
            scopeID: gateway.scopeID
        ).within(link)
        guard let socket = try? FileDescriptor(socketOf: peer.family, type: SOCK_DGRAM) else { return }
        // Where the kernel does not allow it, routes lead there all the same.
        try? socket.setOption(SOL_SOCKET, SO_BINDTOIFINDEX, to: link)
        guard (try? socket.connectSocket(to: peer)) == true else { return }
        _ = send(socket.raw, nil, 0, Int32(MSG_NOSIGNAL))
    }
}
