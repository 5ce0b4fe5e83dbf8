// UDP sockets: one serves a listen address, others ask an upstream one question each. Batches are received and sent by
// `DatagramBatch` through `descriptor`.

package import DNSWire
import Glibc

package final class DatagramSocket: Sendable {
    package let descriptor: FileDescriptor

    /// Size of the receive buffer. Bursts queue in the kernel while a thread processes a batch: 1 MiB holds about 1,500
    /// queries. The system's limit (net.core.rmem_max) may grant less.
    package static let receiveBufferBytes: Int32 = 1 << 20

    /// Creates a socket that serves `address`. Several sockets may serve the same address (SO_REUSEPORT), and the
    /// kernel spreads clients. SO_REUSEPORT admits a second daemon of the same user, so bind the TCP listener first,
    /// which does not.
    ///
    /// - Parameter mayBeAbsent: binds also if no interface has the address.
    /// - Throws: EADDRINUSE, EADDRNOTAVAIL, EACCES (port under 1024), EAFNOSUPPORT (no IPv6).
    package init(serving address: SocketAddress, mayBeAbsent: Bool = false) throws(SystemError) {
        let descriptor = try FileDescriptor(socketOf: address.family, type: SOCK_DGRAM)
        try descriptor.setOption(SOL_SOCKET, SO_REUSEPORT, to: 1)
        if address.isIPv6 { try descriptor.setOption(Int32(IPPROTO_IPV6), IPV6_V6ONLY, to: 1) }
        if mayBeAbsent { try descriptor.mayBindAbsentAddress(isIPv6: address.isIPv6) }
        try descriptor.prepareToServe(address)
        try descriptor.bindSocket(to: address)
        self.descriptor = descriptor
    }

    /// Takes over a socket that the service manager has bound. The service manager has set port sharing and IPv4 on
    /// IPv6.
    init(inherited descriptor: consuming FileDescriptor, at address: SocketAddress) throws(SystemError) {
        try descriptor.becomeOurs()
        try descriptor.prepareToServe(address)
        self.descriptor = descriptor
    }

    /// Creates a socket for one question, with a random local port from the kernel. It receives only from `peer` (RFC
    /// 5452 sections 4 and 9).
    ///
    /// - Parameters:
    ///   - source: source address; nil: the kernel chooses by the route.
    ///   - interface: the only interface that packets leave and arrive through; nil: the kernel chooses by the route.
    /// - Throws: ENETUNREACH, EHOSTUNREACH and the like without a route to the peer; EINVAL without a route from that
    ///   source; ENODEV without such an interface.
    package init(
        connectedTo peer: SocketAddress, from source: SocketAddress? = nil, through interface: String? = nil
    ) throws(SystemError) {
        let descriptor = try FileDescriptor(socketOf: peer.family, type: SOCK_DGRAM)
        if let interface { try descriptor.bindSocket(toInterface: interface) }
        if let source { try descriptor.bindSocket(to: source) }
        try descriptor.ignorePathMTU(isIPv6: peer.isIPv6)
        _ = try descriptor.connectSocket(to: peer)
        self.descriptor = descriptor
    }

    package func localAddress() throws(SystemError) -> SocketAddress {
        try descriptor.localAddress()
    }

    /// Datagrams that the kernel dropped since the socket was made, almost always because the receive buffer was
    /// full. 0 if the kernel does not report it (before Linux 4.12). /proc/net/udp would list every socket of the
    /// machine, and a control message would accompany every datagram.
    package var lostDatagrams: UInt32 {
        var figures = [UInt32](repeating: 0, count: DatagramSocket.memoryFigures)
        var length = socklen_t(MemoryLayout<UInt32>.size * figures.count)
        let result = unsafe getsockopt(descriptor.raw, SOL_SOCKET, SO_MEMINFO, &figures, &length)
        return result == 0 ? figures[DatagramSocket.dropsFigure] : 0
    }

    /// SK_MEMINFO_VARS and SK_MEMINFO_DROPS of linux/sock_diag.h.
    private static let memoryFigures = 9
    private static let dropsFigure = 8

    package enum SendOutcome: Equatable, Sendable {
        case sent, wouldBlock
        /// The peer has no socket at that port, as reported for an earlier datagram.
        case refused
    }

    /// Sends one datagram to the connected peer.
    ///
    /// - Throws: EMSGSIZE, EPERM (a firewall), ENETUNREACH, EHOSTUNREACH, ENOBUFS: all have external causes.
    package func send(_ bytes: Span<UInt8>) throws(SystemError) -> SendOutcome {
        do throws(SystemError) {
            let sent = try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(SystemError) in
                try SystemCall.attempt("send") {
                    unsafe Glibc.send(descriptor.raw, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
                }
            }
            return sent == nil ? .wouldBlock : .sent
        } catch {
            guard error.code == ECONNREFUSED else { throw error }
            return .refused
        }
    }

    package enum ReceiveOutcome: Equatable, Sendable {
        /// One datagram, possibly empty.
        case datagram([UInt8])
        case wouldBlock
        case refused
    }

    /// Receives one datagram from the connected peer. A datagram longer than `maxBytes` is truncated.
    ///
    /// - Throws: an ICMP error about an earlier datagram, such as EHOSTUNREACH.
    package func receive(maxBytes: Int) throws(SystemError) -> ReceiveOutcome {
        do throws(SystemError) {
            let bytes = try unsafe SystemCall.bytes("recv", maxBytes: maxBytes) {
                unsafe recv(descriptor.raw, $0, $1, 0)
            }
            return bytes.map { .datagram($0) } ?? .wouldBlock
        } catch {
            guard error.code == ECONNREFUSED else { throw error }
            return .refused
        }
    }
}

extension FileDescriptor {
    fileprivate func prepareToServe(_ address: SocketAddress) throws(SystemError) {
        try ignorePathMTU(isIPv6: address.isIPv6)
        if address.isWildcard { try reportDestination(isIPv6: address.isIPv6) }
        try raiseReceiveBuffer(to: DatagramSocket.receiveBufferBytes)
    }

    /// Ignores the path MTU. Forged "fragmentation needed" messages must not cause small fragments, which an attacker
    /// could then replace (RFC 9715 section 3.1). With OMIT the path MTU is neither learned nor used.
    fileprivate func ignorePathMTU(isIPv6: Bool) throws(SystemError) {
        if isIPv6 {
            try setOption(Int32(IPPROTO_IPV6), IPV6_MTU_DISCOVER, to: IPV6_PMTUDISC_OMIT)
        } else {
            try setOption(Int32(IPPROTO_IP), IP_MTU_DISCOVER, to: IP_PMTUDISC_OMIT)
        }
    }

    /// Makes the kernel report each packet's destination address to a wildcard socket, so that the reply has it as
    /// source.
    fileprivate func reportDestination(isIPv6: Bool) throws(SystemError) {
        if isIPv6 {
            try setOption(Int32(IPPROTO_IPV6), IPV6_RECVPKTINFO, to: 1)
        } else {
            try setOption(Int32(IPPROTO_IP), IP_PKTINFO, to: 1)
        }
    }

    /// Raises the size of the receive buffer. The kernel silently grants what it allows. A larger buffer stays
    /// unchanged.
    fileprivate func raiseReceiveBuffer(to bytes: Int32) throws(SystemError) {
        guard try option(SOL_SOCKET, SO_RCVBUF) < bytes else { return }
        try setOption(SOL_SOCKET, SO_RCVBUF, to: bytes)
    }
}
