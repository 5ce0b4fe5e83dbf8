// Answers datagrams: receive a batch, take each packet through the fast path, send the replies with one call, hand
// over what has to be fetched. Nothing here waits for anything but the next packet.

import AnswerCache
import DNSWire
import LinuxIO
import Telemetry

/// A question that a serving thread could not answer, with all that its reply needs.
struct Handover: Sendable {
    let query: Query
    let packet: [UInt8]
    let peer: SocketAddress
    /// Our address that was asked, for the reply to leave from; empty unless the socket listens on all addresses.
    let askedAddress: [UInt8]
    let socket: DatagramSocket
    let receivedAt: Instant
}

/// What a serving thread tells the main thread.
enum Notice: Sendable {
    case asked(Handover)
    /// An answer was given that is near its end.
    case due(Question)
    /// An answer was given that somebody waits to see given.
    case givenAgain(Question)

    var isQuestion: Bool {
        switch self {
        case .asked: true
        case .due, .givenAgain: false
        }
    }
}

/// One of N threads, each with sockets of its own on every listen address.
struct ServingThread: ~Copyable {
    private let sockets: [DatagramSocket]
    private let mailbox: Mailbox<Notice>
    private let published: PublishedTally
    private var tally = Tally()
    private var fastPath: FastPath
    private var batch = DatagramBatch(replyBytes: EDNS.ourPayloadBytes)
    private var notices: [Notice] = []

    /// Batches taken from one socket before the others get their turn.
    private static let maxRounds = 8

    init(sockets: [DatagramSocket], fastPath: consuming FastPath, mailbox: Mailbox<Notice>, published: PublishedTally) {
        self.sockets = sockets
        self.fastPath = fastPath
        self.mailbox = mailbox
        self.published = published
    }

    /// Serves until something is posted to `stop`.
    mutating func serve(until stop: Mailbox<Void>) throws(SystemError) {
        var waits = PollSet(sockets.map { $0.descriptor.raw } + [stop.descriptor])
        while true {
            try waits.wait()
            if waits.isReady(sockets.count) { return }
            for index in sockets.indices where waits.isReady(index) { drain(sockets[index]) }
        }
    }

    private mutating func drain(_ socket: DatagramSocket) {
        for _ in 0..<ServingThread.maxRounds {
            // An error is about an earlier datagram (ICMP) and is cleared by being reported.
            guard let count = try? batch.receive(from: socket), count > 0 else { return }
            let now = Clock.now()
            answer(count, socket, now: now)
            tally[.handedOver] += UInt64(notices.count(where: \.isQuestion))
            // Before anything leaves: whoever has an answer, or takes a question over, finds it counted.
            published.publish(tally)
            let unsent = batch.send(through: socket)
            tally[.unsentReplies] += UInt64(unsent)
            let refused = handOver()
            if unsent + refused > 0 { published.publish(tally) }
            if count < DatagramBatch.capacity { return }
        }
    }

    private mutating func answer(_ count: Int, _ socket: DatagramSocket, now: Instant) {
        let nowMilliseconds = Clock.millisecondsSinceBoot(now)
        for place in 0..<count {
            tally[.udpQueries] += 1
            guard !batch.isCut(place), let peer = batch.peer(place) else {
                tally[.droppedOversized] += 1
                continue
            }
            let outcome = batch.exchange(place) { packet, reply in
                fastPath.respond(to: packet, from: Address(peer), nowMilliseconds: nowMilliseconds, into: &reply)
            }
            tally.count(outcome)
            switch outcome {
            case .answered, .local, .refused, .dropped: continue
            case .answeredAndDue(_, let question): notices.append(.due(question))
            case .answeredAwaited(_, let question): notices.append(.givenAgain(question))
            case .miss(let query):
                let handover = Handover(
                    query: query, packet: batch.bytes(place), peer: peer, askedAddress: batch.askedAddress(place),
                    socket: socket, receivedAt: now)
                notices.append(.asked(handover))
            }
        }
    }

    /// The main thread is behind: the client learns that at once and need not wait for its own time-out.
    private mutating func refuse(_ handover: Handover) {
        tally[.handedOver] -= 1
        let message = Client(handover).failure(.notReady)
        if handover.socket.reply(message.span, to: handover.peer, from: handover.askedAddress) {
            tally[.failureResponses] += 1
            tally.count(.serverFailure)
        } else {
            tally[.droppedOverload] += 1
        }
    }

    /// How many had to be refused. An answer that was due and finds no room is left to the plan, or to expire;
    /// one that was awaited is not, until another is stored in its place.
    private mutating func handOver() -> Int {
        guard !notices.isEmpty else { return 0 }
        let accepted = mailbox.post(contentsOf: notices)
        for case .asked(let handover) in notices[accepted...] { refuse(handover) }
        defer { notices.removeAll(keepingCapacity: true) }
        return notices.count - accepted
    }
}

extension Tally {
    /// A miss counts for the cache alone: its response is counted where it is given.
    mutating func count(_ outcome: FastPath.Outcome) {
        switch outcome {
        case .answered(let code), .answeredAndDue(let code, _), .answeredAwaited(let code, _):
            self[.cacheHits] += 1
            self[.cacheResponses] += 1
            count(code)
        case .local:
            self[.localResponses] += 1
            count(.noError)
        case .refused(let code):
            self[.refusedResponses] += 1
            count(code)
        case .dropped(.short): self[.droppedShort] += 1
        case .dropped(.reply): self[.droppedReply] += 1
        case .dropped(.oversized): self[.droppedOversized] += 1
        case .miss: self[.cacheMisses] += 1
        }
    }

    mutating func count(_ code: ResponseCode) {
        switch code {
        case .noError: self[.noError] += 1
        case .formatError: self[.formatError] += 1
        case .serverFailure: self[.serverFailure] += 1
        case .noSuchName: self[.noSuchName] += 1
        case .notImplemented: self[.notImplemented] += 1
        case .refused: self[.refused] += 1
        case .badVersion: self[.badVersion] += 1
        default: self[.otherCode] += 1
        }
    }
}
