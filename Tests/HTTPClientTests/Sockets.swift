// Loopback sockets for the tests' own servers.

import Glibc

enum Sockets {
    /// Opens a listener on a free port of the loopback address.
    static func listen(ipv6: Bool = false) -> (descriptor: Int32, port: UInt16) {
        let socket = bound(ipv6: ipv6)
        precondition(Glibc.listen(socket.descriptor, 64) == 0, "no listener")
        return socket
    }

    /// Holds a free port of the loopback address.
    private static func bound(ipv6: Bool) -> (descriptor: Int32, port: UInt16) {
        // Programs that other tests start at the same time must not keep the port open.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(ipv6 ? AF_INET6 : AF_INET, kind, 0)
        var address = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        if ipv6 {
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
        } else {
            size = socklen_t(MemoryLayout<sockaddr_in>.size)
            unsafe withUnsafeMutableBytes(of: &address) { bytes in
                let v4 = sockaddr_in(
                    sin_family: sa_family_t(AF_INET), sin_port: 0,
                    sin_addr: in_addr(s_addr: UInt32(0x7F00_0001).bigEndian), sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
                unsafe bytes.storeBytes(of: v4, as: sockaddr_in.self)
            }
        }
        let bound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                unsafe bind(descriptor, name, size) == 0 && getsockname(descriptor, name, &size) == 0
            }
        }
        precondition(bound, "no free port")
        // The port has the same place for both families.
        return (descriptor, UInt16(bigEndian: address.sin6_port))
    }

    /// - Parameter waits: whether to wait until the connection is made. Otherwise it may never be.
    static func connect(to port: UInt16, waits: Bool = false) -> Int32 {
        let descriptor = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | (waits ? 0 : SOCK_NONBLOCK.rawValue)), 0)
        var address = sockaddr_in(
            sin_family: sa_family_t(AF_INET), sin_port: port.bigEndian,
            sin_addr: in_addr(s_addr: UInt32(0x7F00_0001).bigEndian), sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
        let isConnected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        precondition(isConnected || !waits, "nobody at port \(port)")
        return descriptor
    }

    /// Ports without a listener. They are held, so that no server of another test gets them.
    static let closedPorts = (0..<2).map { _ in bound(ipv6: false).port }

    /// Passes a port whose server accepts no connection: its backlog is full, so the kernel acknowledges no dial.
    static func withFullBacklog(_ use: (_ port: UInt16) throws -> Void) rethrows {
        let (listener, port) = listen()
        defer { end(listener) }
        precondition(Glibc.listen(listener, 0) == 0, "no shorter backlog")
        // The backlog of Linux holds one connection more than the given number.
        let waiting = (0..<2).map { _ in connect(to: port) }
        defer { waiting.forEach(end) }
        try use(port)
    }

    static func relay(_ client: Int32, to port: UInt16) {
        let server = connect(to: port, waits: true)
        defer { close(server) }
        while true {
            var polled = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard unsafe poll(&polled, 2, -1) > 0 else { return }
            for (from, to) in [(0, server), (1, client)] where polled[from].revents != 0 {
                let bytes = receive(from: polled[from].fd)
                guard !bytes.isEmpty else { return }
                send(bytes, to: to)
            }
        }
    }

    /// Returns false if the peer has closed the connection.
    @discardableResult
    static func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return false }
            rest = rest.dropFirst(sent)
        }
        return true
    }

    /// The received bytes; empty at the end of the stream.
    static func receive(from descriptor: Int32) -> [UInt8] {
        unsafe Array(unsafeUninitializedCapacity: 4096) { buffer, count in
            count = unsafe max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
        }
    }

    /// A number that identifies the socket for as long as it exists.
    static func identity(_ descriptor: Int32) -> ino_t? {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? status.st_ino : nil
    }

    static func unacknowledgedBytes(_ descriptor: Int32) -> Int32 {
        var count: Int32 = 0
        return unsafe ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? count : 0
    }

    /// The number of TCP segments with data that were sent: tcpi_data_segs_out of linux/tcp.h.
    static func sentSegments(_ descriptor: Int32) -> Int {
        var info = [UInt32](repeating: 0, count: 40)
        var length = socklen_t(160)
        guard unsafe getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return 0 }
        return Int(info[39])
    }

    /// Makes the kernel drop every further segment for the socket before TCP sees it.
    static func dropArriving(_ descriptor: Int32) {
        // struct sock_filter of linux/filter.h, little-endian: BPF_RET | BPF_K with 0 bytes to keep.
        var instruction: UInt64 = 0x06
        let isAttached = unsafe withUnsafeMutablePointer(to: &instruction) { instruction in
            // The struct sock_fprog: the number of instructions and their address.
            var program = (UInt(1), UInt(bitPattern: instruction))
            let size = socklen_t(MemoryLayout.size(ofValue: program))
            return unsafe setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, size) == 0
        }
        // The kernel sends data without waiting for an acknowledgement.
        var option: Int32 = 1
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &option, socklen_t(MemoryLayout<Int32>.size))
        precondition(isAttached, "no filter for a socket")
    }

    /// Ends `dropArriving`.
    static func takeArriving(_ descriptor: Int32) {
        var unused: Int32 = 0
        let size = socklen_t(MemoryLayout<Int32>.size)
        precondition(
            unsafe setsockopt(descriptor, SOL_SOCKET, SO_DETACH_FILTER, &unused, size) == 0, "a filter that stays")
    }

    static func end(_ descriptor: Int32) {
        close(descriptor)
    }

    static func resetOnClose(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}
