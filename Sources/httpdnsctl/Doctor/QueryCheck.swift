// Sends one DNS message to one address over UDP or TCP, and returns the reply uninterpreted.

import DNSWire
import LinuxIO

final class QueryCheck: NetworkCheck {
    enum Transport: String {
        case udp = "UDP"
        case tcp = "TCP"
    }

    enum Outcome: Equatable {
        /// The reply, with the ID of the query.
        case answer([UInt8])
        case refused, silent, noRoute
        case failed(LocalizedText)
    }

    private enum Socket {
        case datagram(DatagramSocket)
        case stream(StreamSocket)
    }

    let place: SocketAddress
    let transport: Transport
    let id: UInt16
    private let message: [UInt8]
    private let interface: String?
    private var socket: Socket?
    private var registration: EventLoop.Registration?
    private var unsent: [UInt8] = []
    private var received: [UInt8] = []
    private(set) var outcome: Outcome?

    /// Maximum size of a message: a two-byte length precedes a message on a stream (RFC 1035 section 4.2.2).
    private static let maxMessageBytes = 65_535
    private static let lengthBytes = 2
    private static let headerBytes = 12

    /// - Parameters:
    ///   - query: builds the query with this ID, which is new and random.
    ///   - interface: the only interface that the query leaves through; nil: any.
    init(
        _ query: (_ id: UInt16) -> [UInt8], to place: SocketAddress, _ transport: Transport,
        through interface: String? = nil
    ) {
        self.place = place
        self.transport = transport
        id = UInt16(truncatingIfNeeded: SystemEntropy().next())
        message = query(id)
        self.interface = interface
    }

    var what: LocalizedText { "\(place) over \(transport.rawValue)" }
    var isOver: Bool { outcome != nil }

    func begin(_ loop: EventLoop) {
        do throws(SystemError) {
            switch transport {
            case .udp:
                let datagrams = try DatagramSocket(connectedTo: place, through: interface)
                socket = .datagram(datagrams)
                registration = try loop.watch(datagrams.descriptor.raw, for: .readable) { [unowned self] _ in
                    self.proceed(loop)
                }
                let bytes = message
                if try datagrams.send(bytes.span) == .refused { finish(.refused, loop) }
            case .tcp:
                let count = UInt16(message.count)
                unsent = [UInt8(count >> 8), UInt8(truncatingIfNeeded: count)] + message
                let stream = try StreamSocket(connectingTo: place, through: interface)
                socket = .stream(stream)
                registration = try loop.watch(stream.descriptor.raw, for: .writable) { [unowned self] _ in
                    self.proceed(loop)
                }
            }
        } catch {
            finish(QueryCheck.outcome(of: error), loop)
        }
    }

    func repeatQuestion() {
        // An error was reported for the first datagram already, or the kernel reports it on receive.
        guard case .datagram(let datagrams) = socket else { return }
        let bytes = message
        _ = try? datagrams.send(bytes.span)
    }

    func end(_ loop: EventLoop) { finish(.silent, loop) }

    private func proceed(_ loop: EventLoop) {
        do throws(SystemError) {
            switch socket {
            case .datagram(let datagrams): try receive(datagrams, loop)
            case .stream(let stream): try exchange(stream, loop)
            case nil: return
            }
        } catch {
            finish(QueryCheck.outcome(of: error), loop)
        }
    }

    private func receive(_ datagrams: DatagramSocket, _ loop: EventLoop) throws(SystemError) {
        while true {
            switch try datagrams.receive(maxBytes: QueryCheck.maxMessageBytes) {
            case .wouldBlock: return
            case .refused: return finish(.refused, loop)
            case .datagram(let bytes): if isReply(bytes) { return finish(.answer(bytes), loop) }
            }
        }
    }

    private func exchange(_ stream: StreamSocket, _ loop: EventLoop) throws(SystemError) {
        switch try stream.connectOutcome() {
        case .inProgress: return
        case .failed(let error): throw error
        case .connected: break
        }
        if !unsent.isEmpty {
            let bytes = unsent
            guard let count = try stream.write(bytes.span) else { return }
            unsent.removeFirst(count)
            guard unsent.isEmpty else { return }
            if let registration { try loop.change(registration, to: .readable) }
        }
        while true {
            switch try stream.read(maxBytes: QueryCheck.maxMessageBytes) {
            case .wouldBlock: return
            case .ended: return finish(.failed("the connection was closed without an answer"), loop)
            case .bytes(let bytes):
                received += bytes
                guard received.count >= QueryCheck.lengthBytes else { continue }
                let length = Int(received[0]) << 8 | Int(received[1])
                guard received.count >= QueryCheck.lengthBytes + length else { continue }
                let reply = Array(received[QueryCheck.lengthBytes...].prefix(length))
                return finish(isReply(reply) ? .answer(reply) : .failed("the reply does not match the query"), loop)
            }
        }
    }

    private func isReply(_ bytes: [UInt8]) -> Bool {
        bytes.count >= QueryCheck.headerBytes && bytes[..<2] == message[..<2] && bytes[2] & 0x80 != 0
    }

    private func finish(_ outcome: Outcome, _ loop: EventLoop) {
        if let registration { loop.unwatch(registration) }
        registration = nil
        socket = nil
        self.outcome = outcome
    }

    private static func outcome(of error: SystemError) -> Outcome {
        if error.isRefused { return .refused }
        if error.isUnreachable || error.isAddressUnavailable { return .noRoute }
        return error.isTimeout ? .silent : .failed(LocalizedText(verbatim: error.description))
    }
}
