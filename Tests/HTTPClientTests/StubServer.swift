// A server that plays a script on each accepted connection, with one thread per connection, and records the received
// bytes.

import Glibc
import Synchronization

final class StubServer: Sendable {
    enum Step: Sendable {
        /// Reads to the end of the headers.
        case awaitRequest
        case awaitBytes(Int)
        /// Reads HTTP/2 to the end of a request's headers, or of a frame of another type on the stream.
        case awaitFrame(HTTP2Frame.Kind, stream: UInt32)
        case send(String)
        case sendBytes([UInt8])
        /// Sends the bytes repeatedly until the client closes.
        case sendForever([UInt8])
        /// Waits until `goOn`.
        case hold
        /// Waits until the client closes.
        case hang
        /// Relays bytes to and from a loopback port until either side closes.
        case relay(UInt16)
        /// Reads a request for "/N" and sends the reply of this index.
        case replyByNumber([[UInt8]])
        /// Ends TLS in order (close_notify).
        case endTLS
        /// Starts TLS, with HTTP/2 if the client offers it.
        case startTLS(TLSIdentity)
        /// Drops all further segments from the client without an acknowledgement, as behind a NAT that has forgotten
        /// the connection. The server's own segments still arrive.
        case vanish
        /// Ends `vanish`: segments that the client's kernel repeats arrive.
        case reappear
        /// Closes with a reset instead of an orderly end.
        case reset
    }

    let port: UInt16
    private let listener: Int32
    private let scripts: [[Step]]
    private let state = Mutex(State())
    private let held = Pipe()

    private struct State {
        var received: [[UInt8]] = []
        var connections: Set<Int32> = []
        var acceptedCount = 0
        var threads: [pthread_t] = []
        var isStopping = false
    }

    /// Runs a server until the closure returns.
    ///
    /// - Parameter script: the steps on every connection; it closes at their end.
    static func with(ipv6: Bool = false, _ script: [Step], _ body: (StubServer) throws -> Void) rethrows {
        try with(ipv6: ipv6, scripts: [script], body)
    }

    /// - Parameter scripts: one for each connection in a row; the last one for all others.
    static func with(ipv6: Bool = false, scripts: [[Step]], _ body: (StubServer) throws -> Void) rethrows {
        let server = StubServer(ipv6: ipv6, scripts)
        defer { server.stop() }
        try body(server)
    }

    private init(ipv6: Bool, _ scripts: [[Step]]) {
        self.scripts = scripts
        (listener, port) = Sockets.listen(ipv6: ipv6)
        start { server in
            while case let connection = accept(server.listener, nil, nil), connection >= 0 {
                server.start { $0.serve(connection) }
            }
        }
    }

    /// The awaited requests, frames and bytes in the order of their arrival.
    var received: [[UInt8]] { state.withLock { $0.received } }
    var requests: [String] { received.map { String(decoding: $0, as: UTF8.self) } }
    var openConnections: Int { state.withLock { $0.connections.count } }
    var acceptedConnections: Int { state.withLock { $0.acceptedCount } }

    /// Lets one `hold` end.
    func goOn() { held.write() }

    /// Makes the kernel ignore every further dial.
    func dropDials() { Sockets.dropArriving(listener) }

    /// Makes the kernel refuse every further dial.
    func refuseDials() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Wakes all threads and joins them.
    private func stop() {
        state.withLock { state in
            state.isStopping = true
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
        held.closeWriter()
        shutdown(listener, Int32(SHUT_RDWR))
        while let thread = state.withLock({ $0.threads.popLast() }) { _ = pthread_join(thread, nil) }
        close(listener)
    }

    private func start(_ work: @escaping @Sendable (StubServer) -> Void) {
        let context = unsafe Unmanaged.passRetained(Job { work(self) })
        state.withLock { state in
            var thread = pthread_t()
            let code = unsafe pthread_create(
                &thread, nil,
                { context in
                    guard let context = unsafe context else { return nil }
                    unsafe Unmanaged<Job>.fromOpaque(context).takeRetainedValue().work()
                    return nil
                }, context.toOpaque())
            precondition(code == 0, "no thread for a server")
            state.threads.append(thread)
        }
    }

    private func serve(_ connection: Int32) {
        let script: [Step]? = state.withLock { state in
            guard !state.isStopping else { return nil }
            state.connections.insert(connection)
            state.acceptedCount += 1
            return scripts[min(state.acceptedCount, scripts.count) - 1]
        }
        if let script { play(script, Stream(connection)) }
        state.withLock { state in
            state.connections.remove(connection)
            close(connection)
        }
    }

    private func play(_ script: [Step], _ stream: Stream) {
        for step in script {
            switch step {
            case .awaitRequest: note(stream.receive { String(decoding: $0, as: UTF8.self).contains("\r\n\r\n") })
            case .awaitBytes(let count): note(stream.receive { $0.count >= count })
            case .awaitFrame(let kind, let id): note(HTTP2Frame.await(kind, stream: id, from: stream))
            case .send(let text): stream.send(Array(text.utf8))
            case .sendBytes(let bytes): stream.send(bytes)
            case .sendForever(let bytes): while stream.send(bytes) {}
            case .hold: held.read()
            case .hang: while !stream.receive().isEmpty {}
            case .relay(let port): Sockets.relay(stream.descriptor, to: port)
            case .replyByNumber(let replies):
                let request = stream.receive { String(decoding: $0, as: UTF8.self).contains("\r\n\r\n") } ?? []
                let target = String(decoding: request, as: UTF8.self).split(separator: " ").dropFirst().first ?? ""
                if let number = Int(target.dropFirst()) { stream.send(replies[number]) }
            case .endTLS: stream.endTLS()
            case .startTLS(let identity): guard stream.startTLS(identity) else { return }
            case .vanish: Sockets.dropArriving(stream.descriptor)
            case .reappear: Sockets.takeArriving(stream.descriptor)
            case .reset: Sockets.resetOnClose(stream.descriptor)
            }
        }
    }

    private func note(_ request: [UInt8]?) {
        guard let request else { return }
        state.withLock { $0.received.append(request) }
    }

    private final class Job: Sendable {
        let work: @Sendable () -> Void

        init(_ work: @escaping @Sendable () -> Void) {
            self.work = work
        }
    }
}

/// A pipe that holds one byte for every `read` that may end.
final class Pipe: Sendable {
    private let reader: Int32
    private let writer: Mutex<Int32?>

    init() {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        precondition(unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0, "no pipe")
        reader = ends[0]
        writer = Mutex(ends[1])
    }

    func read() {
        var byte: UInt8 = 0
        _ = unsafe Glibc.read(reader, &byte, 1)
    }

    func write() {
        var byte: UInt8 = 1
        writer.withLock { if let writer = $0 { _ = unsafe Glibc.write(writer, &byte, 1) } }
    }

    func closeWriter() {
        writer.withLock { if let writer = $0.take() { close(writer) } }
    }

    deinit {
        close(reader)
        closeWriter()
    }
}
