// UDP sockets of two kinds: one that serves a listen address, and one per question to an upstream. Batches are
// received and sent elsewhere (`DatagramBatch`), through `descriptor`.

import Glibc

package final class DatagramSocket: Sendable {
    package let descriptor: FileDescriptor

    /// A burst that arrives while a thread is busy with a batch waits in the kernel: 1 MiB holds some 1,500 queries.
    /// The system's own limit (net.core.rmem_max) may grant less.
    package static let receiveBufferBytes: Int32 = 1 << 20

    /// A socket that serves `address`. Several may serve the same one (SO_REUSEPORT): the kernel spreads clients.
    /// SO_REUSEPORT also lets a second daemon of the same user in, so bind the TCP listener first: it does not.
    ///
    /// - Throws: EADDRINUSE, EADDRNOTAVAIL, EACCES (port under 1024), EAFNOSUPPORT (no IPv6).
    package init(serving address: SocketAddress) throws(SystemError) {
        let descriptor = try FileDescriptor(socketOf: address.family, type: SOCK_DGRAM)
        try descriptor.setOption(SOL_SOCKET, SO_REUSEPORT, to: 1)
        if address.isIPv6 { try descriptor.setOption(Int32(IPPROTO_IPV6), IPV6_V6ONLY, to: 1) }
        try descriptor.prepareToServe(address)
        try descriptor.bindSocket(to: address)
        self.descriptor = descriptor
    }

    /// One that is bound already, by the service manager. How ports are shared, and whether an IPv6 socket takes IPv4,
    /// was said when it was bound.
    init(inherited descriptor: consuming FileDescriptor, at address: SocketAddress) throws(SystemError) {
        try descriptor.becomeOurs()
        try descriptor.prepareToServe(address)
        self.descriptor = descriptor
    }

    /// A fresh socket for one question, with a local port of the kernel's random choice; it receives from `peer`
    /// alone (RFC 5452 sections 4 and 9).
    ///
    /// - Parameter source: nil: the kernel chooses, by the route.
    /// - Throws: ENETUNREACH, EHOSTUNREACH and the like when there is no route to the peer, EINVAL when there is none
    ///   from that source.
    package init(connectedTo peer: SocketAddress, from source: SocketAddress? = nil) throws(SystemError) {
        let descriptor = try FileDescriptor(socketOf: peer.family, type: SOCK_DGRAM)
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
        /// The peer has no socket at that port; its kernel said so about an earlier datagram.
        case refused
    }

    /// Sends one datagram to the connected peer.
    ///
    /// - Throws: EMSGSIZE, EPERM (a firewall), ENETUNREACH, EHOSTUNREACH, ENOBUFS: all come from outside.
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
        /// One datagram; empty ones exist.
        case datagram([UInt8])
        case wouldBlock
        case refused
    }

    /// Receives one datagram from the connected peer; one that is longer than `maxBytes` comes cut to it.
    ///
    /// - Throws: what ICMP reported about an earlier datagram, such as EHOSTUNREACH.
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

    /// Forged "fragmentation needed" messages must not make us send small fragments, which an attacker could then
    /// replace (RFC 9715 section 3.1): with OMIT the path MTU is neither learned nor used.
    fileprivate func ignorePathMTU(isIPv6: Bool) throws(SystemError) {
        if isIPv6 {
            try setOption(Int32(IPPROTO_IPV6), IPV6_MTU_DISCOVER, to: IPV6_PMTUDISC_OMIT)
        } else {
            try setOption(Int32(IPPROTO_IP), IP_MTU_DISCOVER, to: IP_PMTUDISC_OMIT)
        }
    }

    /// On a wildcard socket each packet must say which of our addresses it was sent to, so that the reply leaves
    /// from there.
    fileprivate func reportDestination(isIPv6: Bool) throws(SystemError) {
        if isIPv6 {
            try setOption(Int32(IPPROTO_IPV6), IPV6_RECVPKTINFO, to: 1)
        } else {
            try setOption(Int32(IPPROTO_IP), IP_PKTINFO, to: 1)
        }
    }

    /// The kernel grants what it allows and reports no error; a buffer that is larger already is left alone.
    fileprivate func raiseReceiveBuffer(to bytes: Int32) throws(SystemError) {
        guard try option(SOL_SOCKET, SO_RCVBUF) < bytes else { return }
        try setOption(SOL_SOCKET, SO_RCVBUF, to: bytes)
    }
}
