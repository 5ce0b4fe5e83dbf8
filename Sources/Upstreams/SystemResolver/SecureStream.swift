// One DNS-over-TLS connection to a nameserver (RFC 7858), shared by its queries. Replies may come in any order (RFC
// 7766 section 6.2.1.1).

import Crypto
import DNSWire
import LinuxIO
import Resolver

final class SecureStream {
    /// A query that waits for its reply.
    struct Query {
        let lookup: UInt64
        let exchange: NameserverLookup.ExchangeID
        let message: [UInt8]
        /// Earlier connections that ended, possibly because of this query.
        private(set) var tries = 0
        private let askedAt = Clock.now()

        init(lookup: UInt64, exchange: NameserverLookup.ExchangeID, message: [UInt8]) {
            (self.lookup, self.exchange, self.message) = (lookup, exchange, message)
        }

        fileprivate var id: ArraySlice<UInt8> { message.prefix(2) }

        /// The query was not asked long enough ago for an answer to be overdue.
        func isYoung(_ now: Instant) -> Bool { now - askedAt < SecureStream.patience }

        var tried: Query {
            var query = self
            query.tries += 1
            return query
        }
    }

    enum News {
        case reply([UInt8], to: [Query])
        /// The last news, with the queries that have no reply in the order of sending.
        case ended(End, reason: String, unanswered: [Query])
    }

    enum End {
        /// The server closed the connection, possibly within the handshake.
        case closed
        /// The server owes an answer for too long.
        case stalled
        /// There was no connection.
        case failed(FetchFailure)
    }

    private enum Phase {
        case connecting, shakingHands, open, ended
    }

    private let socket: StreamSocket
    private let tls: TLSConnection
    private let timer: PartTimer
    private let loop: EventLoop
    private var registration: EventLoop.Registration?
    private var phase = Phase.connecting
    private var frames = FrameReader()
    /// Encrypted bytes that the kernel has not taken.
    private var unsent: [UInt8] = []
    private var queries: [Query] = []
    /// Queries that were given to this connection, and messages of the server.
    private(set) var carried = 0, replies = 0
    /// When the connection counts as stalled, unless the server is heard before; nil: nothing is expected of it.
    private(set) var deadline: Instant? { didSet { timer.changed() } }
    private let tell: (SecureStream, News) -> Void

    /// The kernel ends the connection if the server's kernel acknowledges nothing for this time: less than a client
    /// waits.
    private static let silence: Int32 = 3000
    /// Time limit of the connection and the handshake together; later, of anything from the server while it owes an
    /// answer. A lookup waits as long before it asks another server. The kernel notices only a server that does not
    /// acknowledge.
    private static let patience: Duration = .seconds(2)
    /// Interval at which the kernel asks an idle server.
    private static let idleSeconds: Int32 = 15
    private static let readBytes = 16 * 1024
    /// Reads per turn before the other sockets are served.
    private static let maxReadsPerTurn = 16

    /// Starts to connect. Throws if there is no route, or not the interface.
    init(
        to peer: SocketAddress, through interface: String?, _ tls: TLSConnection, _ loop: EventLoop,
        _ timer: PartTimer, _ tell: @escaping (SecureStream, News) -> Void
    ) throws(SystemError) {
        socket = try StreamSocket(connectingTo: peer, through: interface)
        try socket.endWhenSilent(milliseconds: SecureStream.silence, idleSeconds: SecureStream.idleSeconds)
        (self.tls, self.loop, self.timer, self.tell) = (tls, loop, timer, tell)
        deadline = Clock.now() + SecureStream.patience
        timer.changed()
        registration = try loop.watch(socket.descriptor.raw, for: .writable) { [weak self] _ in self?.proceed() }
    }

    /// No answer is awaited.
    var isIdle: Bool { queries.isEmpty }

    func send(_ query: Query) {
        queries.append(query)
        carried += 1
        guard phase == .open else { return }
        deadline = deadline ?? Clock.now() + SecureStream.patience
        encrypt(query)
        flush()
    }

    func timePassed(now: Instant) {
        guard let deadline, deadline <= now else { return }
        if phase == .open {
            end(.stalled, "the server owes an answer for 2 s")
        } else {
            end(.failed(.timeout), "no TLS connection within 2 s")
        }
    }

    /// The replies are no longer wanted. The server still owes them: one that stalls is noticed by the first of them.
    func leave(_ lookup: UInt64, _ exchange: NameserverLookup.ExchangeID? = nil) {
        queries.removeAll { $0.lookup == lookup && (exchange == nil || $0.exchange == exchange) }
    }

    /// Closes the connection without news.
    func close() {
        (phase, deadline) = (.ended, nil)
        if let registration { loop.unwatch(registration) }
        registration = nil
    }

    // MARK: the connection

    private func proceed() {
        do throws(SystemError) {
            if phase == .connecting {
                switch try socket.connectOutcome() {
                case .failed(let error): return end(.failed(.refused), error.description)
                case .inProgress: return
                case .connected: phase = .shakingHands
                }
                shakeHands()
            } else {
                flush()
            }
            try receive()
        } catch {
            end(.closed, error.description)
        }
    }

    private func receive() throws(SystemError) {
        for _ in 0..<SecureStream.maxReadsPerTurn where phase != .ended {
            switch try socket.read(maxBytes: SecureStream.readBytes) {
            case .bytes(let bytes):
                tls.receive(bytes.span)
                if phase == .shakingHands { shakeHands() }
                if phase == .open { read() }
            case .wouldBlock: return
            case .ended: return end(.closed, "the server closed the connection")
            }
        }
    }

    private func shakeHands() {
        let step = tls.shakeHands()
        switch step {
        case .failed(let reason):
            // The server learns of the reason.
            flush()
            return end(.failed(.tls), reason)
        case .underWay: break
        case .done:
            phase = .open
            deadline = queries.isEmpty ? nil : Clock.now() + SecureStream.patience
            for query in queries { encrypt(query) }
        }
        flush()
    }

    private func read() {
        var room = [UInt8](repeating: 0, count: SecureStream.readBytes)
        while phase == .open {
            switch tls.read(over: &room) {
            case .bytes(let count):
                var rest = room[..<count]
                while !rest.isEmpty, phase == .open {
                    rest = rest.dropFirst(frames.append(Array(rest).span))
                    while phase == .open, let message = frames.nextMessage() { heard(message) }
                }
            case .needsMore: return
            case .closed: return end(.closed, "the server closed the connection")
            case .failed(let reason): return end(.closed, reason)
            }
        }
    }

    private func heard(_ message: [UInt8]) {
        replies += 1
        let asked = queries.filter { $0.id == message.prefix(2) }
        if !asked.isEmpty { tell(self, .reply(message, to: asked)) }
        guard phase == .open else { return }
        deadline = queries.isEmpty ? nil : Clock.now() + SecureStream.patience
    }

    private func encrypt(_ query: Query) {
        if let reason = tls.send(StreamFraming.frame(query.message)) { end(.closed, reason) }
    }

    private func flush() {
        guard phase != .ended else { return }
        tls.takeOutgoing(into: &unsent)
        do throws(SystemError) {
            while !unsent.isEmpty {
                guard try socket.write(from: &unsent) != nil else { break }
            }
        } catch {
            // The server closed the connection. What it sent before is good.
            try? receive()
            return end(.closed, error.description)
        }
        if let registration { try? loop.change(registration, to: unsent.isEmpty ? .readable : [.readable, .writable]) }
    }

    private func end(_ end: End, _ reason: String) {
        guard phase != .ended else { return }
        close()
        let unanswered = exchange(&queries, with: [])
        tell(self, .ended(end, reason: reason, unanswered: unanswered))
    }
}
