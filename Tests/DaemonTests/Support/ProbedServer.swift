// A server for probes on the test's own loop, so that no thread has to wait.

import DNSWire
import Glibc
import LinuxIO
import Testing

final class ProbedServer {
    enum Conduct {
        /// The server sends these bytes as soon as the connection is made.
        case greets([UInt8])
        /// The server acts after the client's first bytes.
        case answers([UInt8]), answersAndEnds([UInt8]), ends, resets
        case silent
        /// Each connection has a conversation of its own.
        case converses(() -> Conversation)
    }

    /// Maps received bytes to the bytes to send, and tells whether these are the last.
    typealias Conversation = ([UInt8]) -> (said: [UInt8], isLast: Bool)

    private struct Connection {
        let socket: StreamSocket
        let registration: EventLoop.Registration
        let converse: Conversation
    }

    private let listener: Listener
    private let loop: EventLoop
    private let conduct: Conduct
    private var registration: EventLoop.Registration?
    private var connections: [Int32: Connection] = [:]
    /// The bytes of the client that has sent most recently.
    private(set) var hello: [UInt8] = []
    private(set) var accepted = 0
    private var speakers: Set<Int32> = []

    let port: UInt16

    init(_ conduct: Conduct, _ loop: EventLoop) throws {
        self.conduct = conduct
        self.loop = loop
        listener = try Listener(on: #require(SocketAddress("127.0.0.1:0")))
        port = try listener.localAddress().port
        registration = try loop.watch(listener.descriptor.raw, for: .readable) { [unowned self] _ in self.accept() }
    }

    deinit {
        if let registration { loop.unwatch(registration) }
        for connection in connections.values { loop.unwatch(connection.registration) }
    }

    /// Sends the bytes over every open connection.
    func say(_ bytes: [UInt8]) throws {
        for connection in connections.values { _ = try connection.socket.write(bytes.span) }
    }

    var connectionCount: Int { connections.count }

    /// The number of open connections over which the client has sent bytes.
    var speakerCount: Int { speakers.count }

    private func accept() {
        while case let (socket, _)?? = try? listener.accept() {
            let descriptor = socket.descriptor.raw
            let registration = try? loop.watch(descriptor, for: .readable) { [unowned self] _ in
                self.readable(descriptor)
            }
            guard let registration else { return }
            var converse: Conversation = { _ in ([], false) }
            switch conduct {
            case .greets(let bytes): _ = try? socket.write(bytes.span)
            case .converses(let make): converse = make()
            case .answers, .answersAndEnds, .ends, .resets, .silent: break
            }
            connections[descriptor] = Connection(socket: socket, registration: registration, converse: converse)
            accepted += 1
        }
    }

    private func readable(_ descriptor: Int32) {
        guard let connection = connections[descriptor] else { return }
        let socket = connection.socket
        guard case .bytes(let bytes) = try? socket.read(maxBytes: 16_384) else { return close(descriptor) }
        hello = bytes
        speakers.insert(descriptor)
        switch conduct {
        case .greets, .silent: return
        case .answers(let bytes): _ = try? socket.write(bytes.span)
        case .answersAndEnds(let bytes):
            _ = try? socket.write(bytes.span)
            close(descriptor)
        case .converses:
            let (said, isLast) = connection.converse(bytes)
            _ = try? socket.write(said.span)
            if isLast { close(descriptor) }
        case .ends: close(descriptor)
        case .resets:
            socket.resetsWhenClosed()
            close(descriptor)
        }
    }

    private func close(_ descriptor: Int32) {
        guard let connection = connections.removeValue(forKey: descriptor) else { return }
        speakers.remove(descriptor)
        loop.unwatch(connection.registration)
    }
}

extension StreamSocket {
    func resetsWhenClosed() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        let code = unsafe setsockopt(descriptor.raw, SOL_SOCKET, SO_LINGER, &linger, size)
        precondition(code == 0, "every TCP socket can reset its connection")
    }
}
