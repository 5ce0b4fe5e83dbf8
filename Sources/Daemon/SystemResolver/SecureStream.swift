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
        /// An earlier connection ended after it had carried this query.
        let isRepeated: Bool

        fileprivate var id: ArraySlice<UInt8> { message.prefix(2) }

        fileprivate var repeated: Query {
            Query(lookup: lookup, exchange: exchange, message: message, isRepeated: true)
        }
    }

    enum News {
        case reply([UInt8], to: [Query])
        /// The last news. A query that the server may have dropped unread, because it was about to close an idle
        /// connection, is to be repeated on a new one.
        case ended(FetchFailure, reason: String, failed: [Query], repeated: [Query])
    }

    private enum Phase {
        case connecting, shakingHands, open, ended
    }

    private let socket: StreamSocket
    private let tls: TLSConnection
    private let loop: EventLoop
    private var registration: EventLoop.Registration?
    private var phase = Phase.connecting
    private var frames = FrameReader()
    /// Encrypted bytes that the kernel has not taken.
    private var unsent: [UInt8] = []
    private var queries: [Query] = []
    private var hasReplied = false
    private let tell: (SecureStream, News) -> Void

    /// The kernel ends the connection if the server's kernel acknowledges nothing for this time: less than a client
    /// waits.
    private static let silence: Int32 = 3000
    /// Interval at which the kernel asks an idle server.
    private static let idleSeconds: Int32 = 15
    private static let readBytes = 16 * 1024
    /// Reads before the other sockets are served.
    private static let maxReadsPerTurn = 16

    /// Starts to connect. Throws if there is no route, or not the interface.
    init(
        to peer: SocketAddress, through interface: String?, _ tls: TLSConnection, _ loop: EventLoop,
        _ tell: @escaping (SecureStream, News) -> Void
    ) throws(SystemError) {
        socket = try StreamSocket(connectingTo: peer, through: interface)
        try socket.endWhenSilent(milliseconds: SecureStream.silence, idleSeconds: SecureStream.idleSeconds)
        (self.tls, self.loop, self.tell) = (tls, loop, tell)
        registration = try loop.watch(socket.descriptor.raw, for: .writable) { [weak self] _ in self?.proceed() }
    }

    func send(_ query: Query) {
        queries.append(query)
        guard phase == .open else { return }
        encrypt(query)
        flush()
    }

    /// The replies are no longer wanted.
    func leave(_ lookup: UInt64, _ exchange: NameserverLookup.ExchangeID? = nil) {
        queries.removeAll { $0.lookup == lookup && (exchange == nil || $0.exchange == exchange) }
    }

    /// Closes the connection without news.
    func close() {
        phase = .ended
        if let registration { loop.unwatch(registration) }
        registration = nil
    }

    // MARK: the connection

    private func proceed() {
        do throws(SystemError) {
            if phase == .connecting {
                switch try socket.connectOutcome() {
                case .failed(let error): return end(.refused, error.description)
                case .inProgress: return
                case .connected: phase = .shakingHands
                }
                shakeHands()
            } else {
                flush()
            }
            for _ in 0..<SecureStream.maxReadsPerTurn where phase != .ended {
                switch try socket.read(maxBytes: SecureStream.readBytes) {
                case .bytes(let bytes):
                    tls.receive(bytes.span)
                    if phase == .shakingHands { shakeHands() }
                    if phase == .open { read() }
                case .wouldBlock: return
                case .ended: return end(.reset, "the server closed the connection")
                }
            }
        } catch {
            end(.reset, error.description)
        }
    }

    private func shakeHands() {
        let step = tls.shakeHands()
        switch step {
        case .failed(let reason):
            // The server learns of the reason.
            flush()
            return end(.tls, reason)
        case .underWay: break
        case .done:
            phase = .open
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
            case .closed: return end(.reset, "the server closed the connection")
            case .failed(let reason): return end(.reset, reason)
            }
        }
    }

    private func heard(_ message: [UInt8]) {
        hasReplied = true
        let asked = queries.filter { $0.id == message.prefix(2) }
        if !asked.isEmpty { tell(self, .reply(message, to: asked)) }
    }

    private func encrypt(_ query: Query) {
        if let reason = tls.send(StreamFraming.frame(query.message)) { end(.reset, reason) }
    }

    private func flush() {
        guard phase != .ended else { return }
        unsent += tls.takeOutgoing()
        do throws(SystemError) {
            while !unsent.isEmpty {
                guard let count = try socket.write(unsent.span) else { break }
                unsent.removeFirst(count)
            }
        } catch {
            return end(.reset, error.description)
        }
        if let registration { try? loop.change(registration, to: unsent.isEmpty ? .readable : [.readable, .writable]) }
    }

    private func end(_ failure: FetchFailure, _ reason: String) {
        guard phase != .ended else { return }
        close()
        let mayRepeat = hasReplied && failure == .reset
        let repeated = mayRepeat ? queries.filter { !$0.isRepeated }.map(\.repeated) : []
        let failed = mayRepeat ? queries.filter(\.isRepeated) : queries
        queries = []
        tell(self, .ended(failure, reason: reason, failed: failed, repeated: repeated))
    }
}
