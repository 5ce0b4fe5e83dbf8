// A server that plays one script on each connection it takes, from a thread of its own, and notes what it was sent.

import Glibc
import Synchronization

final class StubServer: Sendable {
    enum Step: Sendable {
        case awaitRequest
        case awaitBytes(Int)
        case send(String)
        case sendBytes([UInt8])
        /// Until the client closes.
        case hang
        /// Bytes to and from a port of the loopback address, until either side closes.
        case relay(UInt16)
        /// Close with a reset instead of an orderly end.
        case reset
    }

    let port: UInt16
    private let listener: Int32
    private let script: [Step]
    private let state = Mutex(State())
    private let thread: Mutex<pthread_t?>

    private struct State {
        var received: [[UInt8]] = []
        var connection: Int32?
        var isStopping = false
    }

    /// The server ends with the closure.
    static func with(ipv6: Bool = false, _ script: [Step], _ body: (StubServer) throws -> Void) rethrows {
        let server = StubServer(ipv6: ipv6, script)
        defer { server.stop() }
        try body(server)
    }

    /// - Parameter script: played anew on every connection, which closes at its end.
    private init(ipv6: Bool, _ script: [Step]) {
        self.script = script
        (listener, port) = Sockets.listen(ipv6: ipv6)
        thread = Mutex(nil)
        let context = unsafe Unmanaged.passRetained(Job(listener: listener, play: { self.play($0) }))
        var started = pthread_t()
        let code = unsafe pthread_create(
            &started, nil,
            { context in
                guard let context = unsafe context else { return nil }
                let job = unsafe Unmanaged<Job>.fromOpaque(context).takeRetainedValue()
                while case let connection = accept(job.listener, nil, nil), connection >= 0 {
                    job.play(connection)
                    close(connection)
                }
                return nil
            }, context.toOpaque())
        precondition(code == 0, "no thread for a server")
        thread.withLock { [started] in $0 = started }
    }

    /// What `awaitRequest` and `awaitBytes` waited for, in this order.
    var received: [[UInt8]] { state.withLock { $0.received } }
    var requests: [String] { received.map { String(decoding: $0, as: UTF8.self) } }

    /// Wakes the thread, wherever it waits, and joins it.
    private func stop() {
        state.withLock { state in
            state.isStopping = true
            if let connection = state.connection { shutdown(connection, Int32(SHUT_RDWR)) }
        }
        shutdown(listener, Int32(SHUT_RDWR))
        if let running = thread.withLock({ $0.take() }) { _ = pthread_join(running, nil) }
        close(listener)
    }

    private func play(_ connection: Int32) {
        let isStopping = state.withLock { state in
            state.connection = connection
            return state.isStopping
        }
        defer { state.withLock { $0.connection = nil } }
        guard !isStopping else { return }
        for step in script {
            switch step {
            case .awaitRequest: awaitBytes(connection) { String(decoding: $0, as: UTF8.self).contains("\r\n\r\n") }
            case .awaitBytes(let count): awaitBytes(connection) { $0.count >= count }
            case .send(let text): Sockets.send(Array(text.utf8), to: connection)
            case .sendBytes(let bytes): Sockets.send(bytes, to: connection)
            case .relay(let port): Sockets.relay(connection, to: port)
            case .hang: while !Sockets.receive(from: connection).isEmpty {}
            case .reset: Sockets.resetOnClose(connection)
            }
        }
    }

    private func awaitBytes(_ connection: Int32, until isComplete: ([UInt8]) -> Bool) {
        var request: [UInt8] = []
        while !isComplete(request) {
            let bytes = Sockets.receive(from: connection)
            guard !bytes.isEmpty else { return }
            request += bytes
        }
        state.withLock { [request] in $0.received.append(request) }
    }

    private final class Job: Sendable {
        let listener: Int32
        let play: @Sendable (Int32) -> Void

        init(listener: Int32, play: @escaping @Sendable (Int32) -> Void) {
            self.listener = listener
            self.play = play
        }
    }
}

enum Sockets {
    /// On a free port of the loopback address.
    static func listen(ipv6: Bool = false) -> (descriptor: Int32, port: UInt16) {
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
                unsafe bind(descriptor, name, size) == 0 && Glibc.listen(descriptor, 64) == 0
                    && getsockname(descriptor, name, &size) == 0
            }
        }
        precondition(bound, "no free port")
        // The port has the same place for both families.
        return (descriptor, UInt16(bigEndian: address.sin6_port))
    }

    static func relay(_ client: Int32, to port: UInt16) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(server) }
        var address = sockaddr_in(
            sin_family: sa_family_t(AF_INET), sin_port: port.bigEndian,
            sin_addr: in_addr(s_addr: UInt32(0x7F00_0001).bigEndian), sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        precondition(connected, "nobody at the end of the tunnel")
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

    static func send(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return }
            rest = rest.dropFirst(sent)
        }
    }

    /// Empty at the end of the stream.
    static func receive(from descriptor: Int32) -> [UInt8] {
        unsafe Array(unsafeUninitializedCapacity: 4096) { buffer, count in
            count = unsafe max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
        }
    }

    /// The same for as long as the socket exists, and then for no other.
    static func identity(_ descriptor: Int32) -> ino_t? {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? status.st_ino : nil
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
