// The stats and control socket: one line in, an answer out, connection closed. It reads the daemon's state and has
// none of its own. Clients that are slow or too many are cut; they can't hold up anything else.

import Control
import LinuxIO

final class ControlServer {
    /// Operators and scrapers of one machine.
    private static let maxClients = 32
    /// Connections taken at once, so that somebody who makes them without end does not hold up the loop.
    private static let maxAccepts = 16
    /// To send a line, and to take an answer.
    private static let timeout: Duration = .seconds(5)
    /// Everyone may connect and read; what changes state will ask for the peer's credentials.
    private static let socketMode: UInt32 = 0o666

    private let listener: LocalSocket
    private let loop: EventLoop
    private let answer: ([UInt8]) -> String
    private var clients: [Int32: ControlClient] = [:]
    private var acceptPause: AcceptPause

    /// - Parameter answer: from a request line to all that is sent back.
    init(path: String, loop: EventLoop, answer: @escaping ([UInt8]) -> String) throws(SystemError) {
        listener = try LocalSocket(path: path, mode: ControlServer.socketMode)
        self.loop = loop
        acceptPause = AcceptPause(loop)
        self.answer = answer
        acceptPause.add(
            try loop.watch(listener.descriptor.raw, for: .readable) { [unowned self] _ in accept() })
    }

    var nextDeadline: Instant? { (clients.values.map(\.deadline) + [acceptPause.until].compactMap { $0 }).min() }

    func timePassed(now: Instant) {
        acceptPause.timePassed(now: now)
        for (descriptor, client) in clients where client.deadline <= now { close(descriptor, client) }
    }

    private func accept() {
        for _ in 0..<ControlServer.maxAccepts {
            do throws(SystemError) {
                guard let accepted = try listener.accept() else { return }
                admit(accepted.socket)
            } catch {
                // Other errors are about the connection that was being accepted; its client is gone.
                guard !error.isExhaustion else { return acceptPause.begin(now: Clock.now()) }
            }
        }
    }

    private func admit(_ socket: StreamSocket) {
        let descriptor = socket.descriptor.raw
        // Somebody who connects and says nothing must not keep an operator out: the oldest makes room.
        if clients.count == ControlServer.maxClients,
            let oldest = clients.min(by: { $0.value.deadline < $1.value.deadline })
        {
            close(oldest.key, oldest.value)
        }
        let watched = try? loop.watch(descriptor, for: .readable) { [unowned self] _ in ready(descriptor) }
        guard let registration = watched else { return }
        clients[descriptor] = ControlClient(
            socket: socket, registration: registration, deadline: Clock.now() + ControlServer.timeout)
    }

    private func ready(_ descriptor: Int32) {
        guard var client = clients[descriptor] else { return }
        client.proceed(answer)
        clients[descriptor] = client
        if client.isDone {
            close(descriptor, client)
        } else if !client.unsent.isEmpty {
            try? loop.change(client.registration, to: .writable)
        }
    }

    private func close(_ descriptor: Int32, _ client: ControlClient) {
        loop.unwatch(client.registration)
        clients[descriptor] = nil
    }
}

private struct ControlClient {
    let socket: StreamSocket
    let registration: EventLoop.Registration
    let deadline: Instant
    private(set) var unsent: [UInt8] = []
    private(set) var isDone = false
    private var line: [UInt8] = []
    private var isAnswered = false

    init(socket: StreamSocket, registration: EventLoop.Registration, deadline: Instant) {
        self.socket = socket
        self.registration = registration
        self.deadline = deadline
    }

    mutating func proceed(_ answer: ([UInt8]) -> String) {
        do throws(SystemError) {
            if !isAnswered { try readLine(answer) }
            while !unsent.isEmpty, let count = try socket.write(unsent.span) { unsent.removeFirst(count) }
            isDone = isDone || (isAnswered && unsent.isEmpty)
        } catch {
            isDone = true
        }
    }

    /// A line may end with the connection's end instead of a line feed.
    private mutating func readLine(_ answer: ([UInt8]) -> String) throws(SystemError) {
        while true {
            switch try socket.read(maxBytes: Request.maxLineBytes) {
            case .bytes(let bytes): line += bytes
            case .wouldBlock: return
            case .ended:
                if line.isEmpty { isDone = true } else { reply(answer) }
                return
            }
            if line.contains(UInt8(ascii: "\n")) || line.count > Request.maxLineBytes {
                reply(answer)
                return
            }
        }
    }

    private mutating func reply(_ answer: ([UInt8]) -> String) {
        isAnswered = true
        let request = line.prefix { $0 != UInt8(ascii: "\n") }
        unsent = Array(answer(Array(request)).utf8)
    }
}
