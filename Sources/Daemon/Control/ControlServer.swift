// The control socket: reads one request line per connection, sends the answer, and closes the connection. It produces
// an answer page by page or step by step as the client reads. Slow or surplus clients are disconnected; they never
// block the event loop.

import Control
import DNSWire
import LinuxIO

final class ControlServer: TimedPart {
    let timer = PartTimer()

    /// Connections accepted per event loop turn, so that a flood of connections can't block the loop.
    private static let maxAccepts = 16
    /// Time limit for sending the request line, and for reading some part of the answer.
    fileprivate static let timeout: Duration = .seconds(5)
    /// Every user may connect and read; commands that change state check the peer's credentials.
    private static let socketMode: UInt32 = 0o666

    private let listener: LocalSocket
    private let loop: EventLoop
    private let answer: Answer
    private let isTrusted: (LocalPeer) -> Bool
    private var clients: [Int32: ControlClient] = [:] { didSet { timer.changed() } }
    /// Clients admitted since the start.
    private var admitted: UInt64 = 0
    private var acceptPause: AcceptPause { didSet { timer.changed() } }

    /// Produces the answer to a request line from its sender.
    typealias Answer = (_ line: [UInt8], _ peer: LocalPeer) -> ControlAnswer

    /// - Parameter isTrusted: whether the peer may run every command; others never displace such a peer.
    init(
        path: String, loop: EventLoop, isTrusted: @escaping (LocalPeer) -> Bool, answer: @escaping Answer
    ) throws(SystemError) {
        listener = try LocalSocket(path: path, mode: ControlServer.socketMode)
        self.loop = loop
        acceptPause = AcceptPause(loop)
        self.answer = answer
        self.isTrusted = isTrusted
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
                admit(accepted.socket, accepted.peer)
            } catch {
                // Other errors concern only the pending connection, which the client has closed.
                guard !error.isExhaustion else { return acceptPause.begin(now: Clock.now()) }
            }
        }
    }

    private func admit(_ socket: StreamSocket, _ peer: LocalPeer) {
        let descriptor = socket.descriptor.raw
        let place = HeldConnection(number: admitted, holder: .user(peer.userID), isTrusted: isTrusted(peer))
        switch ConnectionShares.admission(of: place, to: clients.values.map(\.place)) {
        case .free: break
        case .refused: return
        case .closing(let number):
            if let victim = clients.first(where: { $0.value.place.number == number }) {
                close(victim.key, victim.value)
            }
        }
        let watched = try? loop.watch(descriptor, for: .readable) { [unowned self] in
            ready(descriptor, $0)
        }
        guard let registration = watched else { return }
        admitted += 1
        clients[descriptor] = ControlClient(
            place: place, socket: socket, peer: peer, registration: registration,
            deadline: Clock.now() + ControlServer.timeout)
    }

    private func ready(_ descriptor: Int32, _ readiness: Readiness) {
        guard var client = clients[descriptor] else { return }
        let wasStreaming = client.stream != nil
        // EPOLLHUP: both directions are closed. A client that has closed only its sending side still reads.
        let isGone = wasStreaming && !readiness.isDisjoint(with: [.hangUp, .failed])
        if isGone || client.stream?.isOverfull == true { return close(descriptor, client) }
        client.proceed(answer)
        clients[descriptor] = client
        if client.isDone { return close(descriptor, client) }
        try? loop.change(client.registration, to: client.interest)
        if let stream = client.stream, !wasStreaming {
            stream.onChange = { [weak self] in self?.streamChanged(descriptor) }
        }
    }

    /// Defers writing and disconnecting to the next turn, so that no callback runs inside the stream producer's own
    /// calls.
    private func streamChanged(_ descriptor: Int32) {
        guard let client = clients[descriptor], let stream = client.stream else { return }
        clients[descriptor]?.stepped(stream, now: Clock.now())
        try? loop.change(client.registration, to: client.interest)
    }

    private func close(_ descriptor: Int32, _ client: ControlClient) {
        loop.unwatch(client.registration)
        clients[descriptor] = nil
        client.stream?.connectionClosed()
    }
}

private struct ControlClient {
    /// Pages produced per event loop turn, so that a long answer leaves time for other work.
    private static let maxPagesPerTurn = 2

    let place: HeldConnection
    let socket: StreamSocket
    let registration: EventLoop.Registration
    var deadline: Instant
    private(set) var isDone = false
    private let peer: LocalPeer
    private var line: [UInt8] = []
    private var body: ControlAnswer?
    private var unsent: [UInt8] = []
    /// Since when unsent stream data waits without the client reading any of it; nil if it does not wait.
    private var waitingSince: Instant?
    private static let forEver: Duration = .seconds(1 << 32)

    init(
        place: HeldConnection, socket: StreamSocket, peer: LocalPeer, registration: EventLoop.Registration,
        deadline: Instant
    ) {
        self.place = place
        self.socket = socket
        self.peer = peer
        self.registration = registration
        self.deadline = deadline
    }

    var stream: ControlStream? {
        if case .stream(let stream) = body { stream } else { nil }
    }

    /// The readiness to watch. An idle stream watches nothing: it waits for its producer, and epoll always reports
    /// hang-ups.
    var interest: Readiness {
        switch body {
        case nil: .readable
        case .pages: .writable
        case .stream(let stream): stream.unsent.isEmpty && !stream.isFinished ? [] : .writable
        }
    }

    mutating func proceed(_ answer: ControlServer.Answer) {
        do throws(SystemError) {
            if body == nil { try readLine(answer) }
            switch body {
            case nil: break
            case .pages(let pages): try send(pages)
            case .stream(let stream): try send(stream)
            }
        } catch {
            isDone = true
        }
    }

    /// Accepts the end of the connection as the end of the line.
    private mutating func readLine(_ answer: ControlServer.Answer) throws(SystemError) {
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

    private mutating func reply(_ answer: ControlServer.Answer) {
        body = answer(Array(line.prefix { $0 != UInt8(ascii: "\n") }), peer)
        if let stream { stepped(stream, now: Clock.now()) }
    }

    /// Sets the deadline at which the client is disconnected if nothing else happens.
    mutating func stepped(_ stream: ControlStream, now: Instant) {
        if stream.unsent.isEmpty { waitingSince = nil } else if waitingSince == nil { waitingSince = now }
        let silence = now + (stream.silence ?? ControlClient.forEver)
        let waiting = stream.patience.flatMap { patience in waitingSince.map { $0 + patience } }
        deadline = stream.isOverfull ? now : min(silence, waiting ?? silence)
    }

    private mutating func send(_ stream: ControlStream) throws(SystemError) {
        while !stream.unsent.isEmpty {
            let unsent = stream.unsent
            guard let count = try socket.write(unsent.span) else { return }
            stream.took(count)
            waitingSince = nil
            stepped(stream, now: Clock.now())
        }
        isDone = stream.isFinished
    }

    /// Continues in the next turn while the socket has room.
    private mutating func send(_ pages: AnyIterator<String>) throws(SystemError) {
        for _ in 0..<ControlClient.maxPagesPerTurn {
            if unsent.isEmpty {
                guard let page = pages.next() else {
                    isDone = true
                    return
                }
                unsent = Array(page.utf8)
            }
            while !unsent.isEmpty {
                guard try socket.write(from: &unsent) != nil else { return }
                deadline = Clock.now() + ControlServer.timeout
            }
        }
    }
}
