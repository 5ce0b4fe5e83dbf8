// Sockets that the former process of the service left in the service manager's store (sd_notify(3), FDSTORE=1). They
// come from outside the process, so each is checked; a socket of another kind is closed.

package import DNSWire
import Glibc

/// A kind of sockets in the store. Its name in the store tells the next process what they are (FDNAME=).
package enum KeptKind: String, CaseIterable, Sendable {
    /// Bound UDP sockets and TCP listeners: queries and connections queue in them while no process runs.
    case bound = "dns-bound"
    /// Connections of clients, between two messages.
    case connection = "dns-connection"
}

package struct KeptSockets {
    package private(set) var datagrams: [(address: SocketAddress, socket: DatagramSocket)] = []
    package private(set) var listeners: [(address: SocketAddress, listener: Listener)] = []
    package private(set) var connections: [(peer: SocketAddress, socket: StreamSocket)] = []
    /// Descriptors that are of no use; they are closed.
    package private(set) var unusableCount = 0

    package init() {}

    /// True if the store had nothing.
    package var isEmpty: Bool { datagrams.isEmpty && listeners.isEmpty && connections.isEmpty && unusableCount == 0 }

    private enum Shape {
        case datagram, listener, connection
    }

    mutating func take(_ descriptor: consuming FileDescriptor, _ kind: KeptKind) {
        // The peer of a connection may have gone.
        let isUsable = (try? place(descriptor, kind)) ?? false
        if !isUsable { unusableCount += 1 }
    }

    /// - Returns: false for a socket of another kind.
    private mutating func place(
        _ descriptor: consuming FileDescriptor, _ kind: KeptKind
    ) throws(SystemError) -> Bool {
        switch (kind, try KeptSockets.shape(of: descriptor)) {
        case (.bound, .datagram):
            let address = try descriptor.localAddress()
            datagrams.append((address, try DatagramSocket(inherited: descriptor, at: address)))
        case (.bound, .listener):
            let address = try descriptor.localAddress()
            listeners.append((address, try Listener(inherited: descriptor)))
        case (.connection, .connection):
            guard let peer = try descriptor.peerAddress() else { return false }
            connections.append((peer, try StreamSocket(inherited: descriptor)))
        case (.bound, .connection), (.bound, nil), (.connection, .datagram), (.connection, .listener),
            (.connection, nil):
            return false
        }
        return true
    }

    /// Returns nil for a socket that this daemon does not make: of another protocol, connected, for IPv4 on IPv6, or
    /// without SO_REUSEPORT, which prevents further sockets for more threads.
    private static func shape(of descriptor: borrowing FileDescriptor) throws(SystemError) -> Shape? {
        let family = try descriptor.option(SOL_SOCKET, SO_DOMAIN)
        guard family == AF_INET || family == AF_INET6 else { return nil }
        if family == AF_INET6, try descriptor.option(Int32(IPPROTO_IPV6), IPV6_V6ONLY) == 0 { return nil }
        let type = UInt32(bitPattern: try descriptor.option(SOL_SOCKET, SO_TYPE))
        switch (type, try descriptor.option(SOL_SOCKET, SO_PROTOCOL)) {
        case (SOCK_DGRAM.rawValue, Int32(IPPROTO_UDP)):
            let isShared = try descriptor.option(SOL_SOCKET, SO_REUSEPORT) != 0
            return isShared && (try? descriptor.peerAddress()) == nil ? .datagram : nil
        case (SOCK_STREAM.rawValue, Int32(IPPROTO_TCP)):
            return try descriptor.option(SOL_SOCKET, SO_ACCEPTCONN) != 0 ? .listener : .connection
        default: return nil
        }
    }

    /// Closes the bound sockets that their users have not copied.
    package mutating func dropBound() { (datagrams, listeners) = ([], []) }

    /// Hands out the connections.
    package mutating func takeConnections() -> [(peer: SocketAddress, socket: StreamSocket)] {
        defer { connections = [] }
        return connections
    }
}
