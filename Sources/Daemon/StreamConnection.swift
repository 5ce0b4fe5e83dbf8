// One client's TCP connection: frames in, frames out, and how long each may take. It touches its socket and nothing
// else; the server decides what is answered.

import DNSWire
import LinuxIO

final class StreamConnection {
    /// A connection without questions in flight (RFC 7766 section 6.2.3 asks for seconds; peers use 10).
    static let idleTimeout: Duration = .seconds(10)
    /// A frame that has begun must arrive, and an answer must be taken, in this time: slow ones are cut.
    static let transferTimeout: Duration = .seconds(5)
    /// Questions in flight; further ones wait in the client's socket (RFC 7766 section 6.2.1.1: back-pressure).
    static let maxInFlight = 64
    /// Answers that wait for the client to read; at this point no more questions are read. Those in flight by then may
    /// still bring 4 MiB, which the server bounds for all connections together.
    static let maxUnsentBytes = 256 * 1024
    /// Then it answers what it was asked and ends, so that nobody keeps a place for ever by asking now and then
    /// (RFC 7766 section 6.2.3 lets a server close at will; clients connect again).
    static let maxAge: Duration = .seconds(600)
    private static let readBytes = 16 * 1024

    let client: Address
    let registration: EventLoop.Registration
    private let socket: StreamSocket
    private var frames = FrameReader()
    private var unsent: [UInt8] = []
    /// What the server's sum has of `unsentBytes`.
    var countedBytes = 0
    private var inFlight = 0
    /// There may be whole questions that have not been looked at, though the socket has nothing more to read.
    var isBehind = false
    private var hasEnded = false
    private var isBroken = false
    /// Since when the connection waits for what its state asks of the client.
    private var waitingSince: Instant
    /// Nil once it has retired.
    private var retiresAt: Instant?

    init(_ socket: StreamSocket, _ client: Address, _ registration: EventLoop.Registration, now: Instant) {
        self.socket = socket
        self.client = client
        self.registration = registration
        waitingSince = now
        retiresAt = now + StreamConnection.maxAge
    }

    var unsentBytes: Int { unsent.count }

    var deadline: Instant {
        let isMidway = !unsent.isEmpty || frames.hasPartialFrame
        let patience = waitingSince + (isMidway ? StreamConnection.transferTimeout : StreamConnection.idleTimeout)
        return retiresAt.map { min($0, patience) } ?? patience
    }

    /// Whether it is old enough, once: from then on no question is read.
    func retires(now: Instant) -> Bool {
        guard let age = retiresAt, age <= now else { return false }
        retiresAt = nil
        hasEnded = true
        return true
    }

    /// Nothing more will come or go: a client that has ended its side still gets the answers it asked for.
    var isOver: Bool { isBroken || (hasEnded && inFlight == 0 && unsent.isEmpty) }

    var interest: Readiness {
        var interest: Readiness = unsent.isEmpty && !isBehind ? [] : .writable
        if canRead { interest.insert(.readable) }
        return interest
    }

    private var canRead: Bool {
        !hasEnded && !isBroken && inFlight < StreamConnection.maxInFlight
            && unsent.count < StreamConnection.maxUnsentBytes
    }

    /// A whole message that has arrived, in flight from now on; nil when there is none, or no room for its answer.
    func nextQuestion(now: Instant) -> [UInt8]? {
        while canRead {
            if let message = frames.nextMessage() {
                inFlight += 1
                waitingSince = now
                return message
            }
            guard receive(now: now) else { break }
        }
        return nil
    }

    /// A message that was read from the socket already can be taken now: nothing will wake the loop for it.
    var hasQuestion: Bool { canRead && frames.hasWholeMessage }

    /// An empty answer means that the question was dropped.
    func answered(with message: [UInt8], now: Instant) {
        inFlight -= 1
        guard !message.isEmpty else { return }
        if unsent.isEmpty { waitingSince = now }
        unsent += StreamFraming.frame(message)
    }

    func write(now: Instant) {
        while !unsent.isEmpty, !isBroken {
            do throws(SystemError) {
                guard let count = try socket.write(unsent.span) else { return }
                unsent.removeFirst(count)
                waitingSince = now
            } catch {
                isBroken = true
            }
        }
    }

    /// Nothing more is read or written.
    func cut() {
        isBroken = true
    }

    /// False when there is nothing to read for now.
    private func receive(now: Instant) -> Bool {
        let room = min(frames.freeBytes, StreamConnection.readBytes)
        do throws(SystemError) {
            switch try socket.read(maxBytes: room) {
            case .bytes(let bytes):
                if !frames.hasPartialFrame { waitingSince = now }
                _ = frames.append(bytes.span)
                return true
            case .wouldBlock: return false
            case .ended: hasEnded = true
            }
        } catch {
            isBroken = true
        }
        return false
    }
}
