// One client's TCP connection: reads and writes frames and enforces their time limits. It touches only its socket;
// the server supplies the answers.

import DNSWire
import LinuxIO

final class StreamConnection {
    /// Timeout of a connection without questions in flight (RFC 7766 section 6.2.3 asks for seconds; peers use 10).
    static let idleTimeout: Duration = .seconds(Int64(StreamFraming.idleTimeoutSeconds))
    /// Time in which a frame that has begun must arrive. In each period of this length a client must take all answers
    /// that wait for it, or `minBytesPerPeriod` of them.
    static let transferTimeout: Duration = .seconds(5)
    /// About 3 KiB/s, less than the rate of any link for DNS over TCP. A client below this rate holds a place and
    /// memory.
    static let minBytesPerPeriod = 16 * 1024
    /// Questions in flight; further ones wait in the client's socket (RFC 7766 section 6.2.1.1: back-pressure).
    static let maxInFlight = 64
    /// Answers that wait for the client to read; at this point no more questions are read. Those in flight by then may
    /// still bring 4 MiB, which the server bounds for all connections together.
    static let maxUnsentBytes = 256 * 1024
    /// Age at which the connection answers its questions in flight and closes, so that a client cannot keep a place for
    /// ever with an occasional question (RFC 7766 section 6.2.3 lets a server close at will; clients connect again).
    static let maxAge: Duration = .seconds(600)
    /// Time for the last answers after `maxAge`: longer than a lookup takes. After it, the connection is closed in any
    /// case.
    static let closingTimeout: Duration = .seconds(10)
    /// A connection without questions is idle after this time: the first question of a connection that has just been
    /// accepted is still to be read.
    static let minIdle: Duration = .milliseconds(20)
    static let initialInterest: Readiness = [.readable, .peerClosed]

    /// Eviction order if a place is needed: lower rank first, then the longer wait.
    struct EvictionOrder: Comparable {
        enum Rank: Int {
            /// The peer sends no more; it has probably gone without waiting for its answers.
            case peerClosed
            case idle
            /// The connection's first question is still to be read.
            case fresh
            case inUse
        }

        let rank: Rank
        let since: Instant

        static func < (left: EvictionOrder, right: EvictionOrder) -> Bool {
            left.rank == right.rank ? left.since < right.since : left.rank.rawValue < right.rank.rawValue
        }
    }

    let client: Address
    let transport: Transport
    let registration: EventLoop.Registration
    private let socket: StreamSocket
    private var frames = FrameReader()
    private var unsent: [UInt8] = []
    /// Bytes of `unsentBytes` that the server's sum includes.
    var countedBytes = 0
    private var inFlight = 0
    /// Whole questions may be buffered though the socket has nothing more to read.
    var isBehind = false
    private var hasEnded = false
    private var hasPeerClosed = false
    private var isBroken = false
    /// The last read has taken all that had arrived. Another one would return nothing until the loop reports more.
    private var isDrained = false
    /// Time of the last question read or the last answer written.
    private var lastUse: Instant
    /// When the present incomplete frame began.
    private var frameSince: Instant
    /// The current transfer period: its start and the bytes that the client has taken.
    private var period: (start: Instant, bytes: Int)
    private let retiresAt: Instant
    private var isRetired = false
    /// Only the rest of a message that has begun is read. The next process reads the others: bytes that this process
    /// had read would be lost with it.
    private var isFinishing = false

    init(
        _ socket: StreamSocket, _ client: Address, _ transport: Transport, _ registration: EventLoop.Registration,
        now: Instant
    ) {
        self.socket = socket
        self.client = client
        self.transport = transport
        self.registration = registration
        lastUse = now
        frameSince = now
        period = (now, 0)
        retiresAt = now + StreamConnection.maxAge
    }

    var descriptor: Int32 { socket.descriptor.raw }

    var unsentBytes: Int { unsent.count }

    /// When the server retires or closes the connection.
    var deadline: Instant {
        let end = isRetired ? retiresAt + StreamConnection.closingTimeout : retiresAt
        let frameEnd = owesFrame ? frameSince + StreamConnection.transferTimeout : end
        let patience =
            unsent.isEmpty ? lastUse + StreamConnection.idleTimeout : period.start + StreamConnection.transferTimeout
        return min(end, frameEnd, patience)
    }

    /// Returns true once, when the maximum age is reached; from then on no question is read.
    func retires(now: Instant) -> Bool {
        guard !isRetired, retiresAt <= now else { return false }
        isRetired = true
        hasEnded = true
        return true
    }

    func evictionOrder(now: Instant) -> EvictionOrder {
        let rank: EvictionOrder.Rank =
            if hasPeerClosed {
                .peerClosed
            } else if inFlight > 0 || !unsent.isEmpty {
                .inUse
            } else {
                lastUse + StreamConnection.minIdle <= now ? .idle : .fresh
            }
        return EvictionOrder(rank: rank, since: lastUse)
    }

    /// Whether no more data will be read or written. A client that has ended its side still gets its answers.
    var isOver: Bool { isBroken || (hasEnded && inFlight == 0 && unsent.isEmpty) }

    var interest: Readiness {
        var interest = unsent.isEmpty && !isBehind ? Readiness() : .writable
        if canRead { interest.insert(.readable) }
        if !hasPeerClosed { interest.insert(.peerClosed) }
        return interest
    }

    private var canRead: Bool {
        !hasEnded && !isBroken && inFlight < StreamConnection.maxInFlight
            && unsent.count < StreamConnection.maxUnsentBytes && (!isFinishing || frames.hasPartialFrame)
    }

    func finish() { isFinishing = true }

    /// Whether nothing that was read waits for an answer, its rest or its way to the client.
    var isBetweenMessages: Bool { inFlight == 0 && unsent.isEmpty && !frames.hasPartialFrame && !isBroken }

    /// Whether a frame is incomplete, and its rest would be read on arrival.
    private var owesFrame: Bool { canRead && frames.hasPartialFrame && !frames.hasWholeMessage }

    /// Returns the next whole message, which counts as in flight; nil if there is none, or no room for its answer.
    ///
    /// - Parameter room: takes what is read; its content does not matter.
    func nextQuestion(now: Instant, _ room: inout [UInt8]) -> [UInt8]? {
        while canRead {
            if let message = frames.nextMessage() {
                inFlight += 1
                lastUse = now
                frameSince = now
                return message
            }
            guard !isDrained, receive(now: now, &room) else { break }
        }
        return nil
    }

    /// Whether a whole message is buffered; the loop will get no event for it.
    var hasQuestion: Bool { canRead && frames.hasWholeMessage }

    /// Queues an answer. An empty one means that the question was dropped.
    func answered(with message: [UInt8], now: Instant) {
        // Reading resumes now; the client could not send the rest of a frame before.
        if inFlight == StreamConnection.maxInFlight { frameSince = now }
        inFlight -= 1
        guard !message.isEmpty else { return }
        if unsent.isEmpty { period = (now, 0) }
        StreamFraming.append(message, to: &unsent)
    }

    func write(now: Instant) {
        while !unsent.isEmpty, !isBroken {
            do throws(SystemError) {
                guard let count = try socket.write(from: &unsent) else { return }
                wrote(count, now: now)
            } catch {
                isBroken = true
            }
        }
    }

    /// Counts written bytes. A few bytes do not begin a new period; otherwise a slow reader would keep its place for
    /// ever.
    func wrote(_ count: Int, now: Instant) {
        lastUse = now
        period.bytes += count
        if period.bytes >= StreamConnection.minBytesPerPeriod { period = (now, 0) }
    }

    /// Notes that there is something to read.
    func becameReadable() {
        isDrained = false
    }

    /// Stops all reading and writing.
    func cut() {
        isBroken = true
    }

    /// Notes the end of the peer's side. Earlier data is still read, and answered if the client only ended its own
    /// side.
    func peerClosed() {
        hasPeerClosed = true
    }

    /// Returns false if there is nothing to read for now.
    private func receive(now: Instant, _ room: inout [UInt8]) -> Bool {
        let maxBytes = min(isFinishing ? frames.missingBytes : frames.freeBytes, room.count)
        do throws(SystemError) {
            guard let count = try socket.read(over: &room, maxBytes: maxBytes) else { return false }
            guard count > 0 else {
                hasEnded = true
                hasPeerClosed = true
                return false
            }
            if !frames.hasPartialFrame { frameSince = now }
            _ = frames.append(room.span.extracting(..<count))
            // The end of the peer's side is read at once, so that the connection closes in this turn.
            isDrained = count < maxBytes && !hasPeerClosed
            return true
        } catch {
            isBroken = true
            return false
        }
    }
}
