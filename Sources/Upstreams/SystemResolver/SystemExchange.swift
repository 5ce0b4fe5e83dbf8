// One socket to one nameserver: a datagram with its replies, or a stream with one question.

import DNSWire
import LinuxIO
import Resolver

struct SystemExchange {
    enum Outcome {
        case waiting
        case message([UInt8])
        case failed(FetchFailure)
    }

    private enum Socket {
        case datagram(DatagramSocket)
        case stream(StreamSocket, unsent: [UInt8], FrameReader)
    }

    private var socket: Socket
    private var registration: EventLoop.Registration?

    /// The kernel cuts replies longer than the offered size; they are then malformed.
    private static let maxDatagramBytes = 4096
    private static let readBytes = 16 * 1024

    /// Sends at once. Returns nil if there is no route to the server, or not its interface.
    static func datagram(to server: Nameserver, _ message: [UInt8]) -> SystemExchange? {
        guard let peer = SocketAddress(withZone: server.description),
            let socket = try? DatagramSocket(connectedTo: peer, through: server.interface),
            (try? socket.send(message.span)) != nil
        else { return nil }
        return SystemExchange(socket: .datagram(socket))
    }

    static func stream(to server: Nameserver, _ message: [UInt8]) -> SystemExchange? {
        guard let peer = SocketAddress(withZone: server.description),
            let socket = try? StreamSocket(connectingTo: peer, through: server.interface)
        else {
            return nil
        }
        return SystemExchange(socket: .stream(socket, unsent: StreamFraming.frame(message), FrameReader()))
    }

    private init(socket: Socket) {
        self.socket = socket
    }

    /// Returns false if the loop has no room.
    mutating func watch(_ loop: EventLoop, _ body: @escaping () -> Void) -> Bool {
        let (descriptor, interest): (Int32, Readiness) =
            switch socket {
            case .datagram(let socket): (socket.descriptor.raw, .readable)
            case .stream(let socket, _, _): (socket.descriptor.raw, .writable)
            }
        registration = try? loop.watch(descriptor, for: interest) { _ in body() }
        return registration != nil
    }

    func close(_ loop: EventLoop) {
        if let registration { loop.unwatch(registration) }
    }

    /// Takes the next outcome; call it until it returns `waiting`.
    mutating func proceed(_ loop: EventLoop) -> Outcome {
        switch socket {
        case .datagram(let socket): return SystemExchange.receive(socket)
        case .stream(let stream, var unsent, var frames):
            let outcome = SystemExchange.exchange(stream, &unsent, &frames)
            socket = .stream(stream, unsent: unsent, frames)
            if unsent.isEmpty, let registration { try? loop.change(registration, to: .readable) }
            return outcome
        }
    }

    private static func receive(_ socket: DatagramSocket) -> Outcome {
        do throws(SystemError) {
            switch try socket.receive(maxBytes: maxDatagramBytes) {
            case .datagram(let bytes): return .message(bytes)
            case .wouldBlock: return .waiting
            case .refused: return .failed(.refused)
            }
        } catch {
            return .failed(.unreachable)
        }
    }

    private static func exchange(
        _ socket: StreamSocket, _ unsent: inout [UInt8], _ frames: inout FrameReader
    ) -> Outcome {
        do throws(SystemError) {
            if case .failed = try socket.connectOutcome() { return .failed(.refused) }
            if !unsent.isEmpty {
                guard try socket.write(from: &unsent) != nil else { return .waiting }
            }
            while true {
                if let message = frames.nextMessage() { return .message(message) }
                switch try socket.read(maxBytes: min(frames.freeBytes, readBytes)) {
                case .bytes(let bytes): _ = frames.append(bytes.span)
                case .wouldBlock: return .waiting
                case .ended: return .failed(.reset)
                }
            }
        } catch {
            return .failed(.reset)
        }
    }
}
