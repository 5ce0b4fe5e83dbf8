// Calls that all kinds of sockets share: creation, options, bind, connect, name.

package import DNSWire
package import Glibc

extension FileDescriptor {
    /// Creates a non-blocking socket that started programs do not inherit.
    package init(socketOf family: Int32, type: __socket_type, protocol: Int32 = 0) throws(SystemError) {
        let kind = Int32(type.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        self.init(owning: try SystemCall.run("socket") { socket(family, kind, `protocol`) })
    }

    /// Prepares an inherited descriptor: makes it non-blocking and close-on-exec.
    func becomeOurs() throws(SystemError) {
        try setNonBlocking(true)
        try SystemCall.run("fcntl") { fcntl(raw, F_SETFD, FD_CLOEXEC) }
    }

    func setNonBlocking(_ isNonBlocking: Bool) throws(SystemError) {
        let status = try SystemCall.run("fcntl") { fcntl(raw, F_GETFL) }
        try SystemCall.run("fcntl") {
            fcntl(raw, F_SETFL, isNonBlocking ? status | O_NONBLOCK : status & ~O_NONBLOCK)
        }
    }

    package func setOption(_ level: Int32, _ name: Int32, to value: Int32) throws(SystemError) {
        var value = value
        try SystemCall.run("setsockopt") {
            unsafe setsockopt(raw, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    func option(_ level: Int32, _ name: Int32) throws(SystemError) -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        try SystemCall.run("getsockopt") { unsafe getsockopt(raw, level, name, &value, &length) }
        return value
    }

    /// Lets the next bind use an address that no interface has: packets arrive as soon as one has it (ip(7),
    /// IP_FREEBIND; IPv6 since Linux 4.15).
    func mayBindAbsentAddress(isIPv6: Bool) throws(SystemError) {
        if isIPv6 {
            try setOption(Int32(IPPROTO_IPV6), IPV6_FREEBIND, to: 1)
        } else {
            try setOption(Int32(IPPROTO_IP), IP_FREEBIND, to: 1)
        }
    }

    /// Lets packets leave and arrive through one interface only, whatever the routes say (socket(7), SO_BINDTODEVICE).
    ///
    /// - Throws: ENODEV without such an interface; EPERM before Linux 5.7.
    func bindSocket(toInterface name: String) throws(SystemError) {
        try SystemCall.run("setsockopt") {
            unsafe setsockopt(raw, SOL_SOCKET, SO_BINDTODEVICE, name, socklen_t(name.utf8.count))
        }
    }

    func bindSocket(to address: SocketAddress) throws(SystemError) {
        var kernel = address.kernel
        try SystemCall.run("bind") { unsafe kernel.withPointer { unsafe bind(raw, $0, $1) } }
    }

    /// - Returns: false while the connection is being established (EINPROGRESS).
    package func connectSocket(to address: SocketAddress) throws(SystemError) -> Bool {
        var kernel = address.kernel
        do throws(SystemError) {
            try SystemCall.run("connect") { unsafe kernel.withPointer { unsafe connect(raw, $0, $1) } }
            return true
        } catch {
            guard error.code == EINPROGRESS else { throw error }
            return false
        }
    }

    func localAddress() throws(SystemError) -> SocketAddress {
        var kernel = SocketAddress.Kernel()
        try SystemCall.run("getsockname") { unsafe kernel.withPointer { unsafe getsockname(raw, $0, &$1) } }
        guard let address = SocketAddress(kernel.storage) else {
            throw SystemError(call: "getsockname", code: EAFNOSUPPORT)
        }
        return address
    }

    /// Returns nil for a peer without an IP address, such as that of a UNIX socket.
    ///
    /// - Throws: ENOTCONN without a peer.
    func peerAddress() throws(SystemError) -> SocketAddress? {
        var kernel = SocketAddress.Kernel()
        try SystemCall.run("getpeername") { unsafe kernel.withPointer { unsafe getpeername(raw, $0, &$1) } }
        return SocketAddress(kernel.storage)
    }
}
