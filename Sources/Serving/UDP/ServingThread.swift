// Answers datagrams: receives a batch, passes each packet through the fast path, sends the replies with one call, and
// hands over misses. It waits for nothing but the next packet.

package import DNSWire
import LinuxIO
import Telemetry

/// One of N threads, each with sockets of its own on every listen address.
struct ServingThread: ~Copyable {
    private let sockets: [DatagramSocket]
    private let mailbox: Mailbox<Notice>
    private let telemetry: ThreadTelemetry
    private var tally = Tally()
    private var fastPath: FastPath
    private var batch = DatagramBatch(replyBytes: EDNS.ourPayloadBytes)
    private var refusals = DatagramReplies(replyBytes: EDNS.ourPayloadBytes)
    private var notices: [Notice] = []
    /// The outcome of each datagram of the batch.
    private var served: [ServedQuery] = []

    /// Batches taken from one socket before the others get their turn.
    private static let maxRounds = 8

    init(sockets: [DatagramSocket], fastPath: consuming FastPath, mailbox: Mailbox<Notice>, telemetry: ThreadTelemetry)
    {
        self.sockets = sockets
        self.fastPath = fastPath
        self.mailbox = mailbox
        self.telemetry = telemetry
        served.reserveCapacity(DatagramBatch.capacity)
    }

    /// Serves until it is told to stop.
    mutating func serve(_ orders: ServingOrders) throws(SystemError) {
        var waits = PollSet(sockets.map { $0.descriptor.raw } + [orders.descriptor])
        while true {
            try waits.wait()
            if waits.isReady(sockets.count), !orders.obey() { return }
            for index in sockets.indices where waits.isReady(index) { drain(sockets[index]) }
        }
    }

    private mutating func drain(_ socket: DatagramSocket) {
        for _ in 0..<ServingThread.maxRounds {
            // An error concerns an earlier datagram (ICMP); reporting clears it.
            guard let count = try? batch.receive(from: socket), count > 0 else { return }
            let now = Clock.now()
            let hits = tally[.cacheHits]
            answer(count, socket, now: now)
            tally.add(.handedOver, UInt64(notices.count(where: \.isQuestion)))
            // Counts are published first, so that the receiver of an answer or a question finds it counted.
            telemetry.tally.publish(tally)
            let unsent = batch.send(through: socket)
            tally.add(.unsentReplies, UInt64(unsent))
            record(receivedAt: now, hits: tally[.cacheHits] - hits)
            let refused = handOver()
            if unsent + refused > 0 { telemetry.tally.publish(tally) }
            if count < DatagramBatch.capacity { return }
        }
    }

    /// Runs after the replies, so that it delays none. They are sent with one call, so all of a batch took the same
    /// time.
    private func record(receivedAt now: Instant, hits: UInt64) {
        let microseconds = now.duration(to: Clock.now()).microsecondsRoundedUp
        telemetry.hitDurations.record(microseconds: microseconds, count: hits)
        let nanoseconds = Clock.nanosecondsSinceBoot(now)
        for place in served.indices {
            telemetry.ring.record(
                served[place], atNanoseconds: nanoseconds, microseconds: microseconds, in: batch.packet(place))
        }
    }

    private mutating func answer(_ count: Int, _ socket: DatagramSocket, now: Instant) {
        let nowMilliseconds = Clock.millisecondsSinceBoot(now)
        served.removeAll(keepingCapacity: true)
        tally.addQueries(UInt64(count), over: .udp)
        if count > 1 {
            for place in 0..<count { batch.withPacket(place) { fastPath.announce($0) } }
            fastPath.prefetch()
        }
        for place in 0..<count {
            guard let peer = batch.peer(place) else {
                tally.add(.droppedShort)
                served.append(ServedQuery(.dropped, outcome: .short, client: .v4(0)))
                continue
            }
            let client = peer.address
            let isCut = batch.isCut(place)
            let outcome = batch.exchange(place) { packet, reply in
                fastPath.respond(
                    to: packet, from: client, over: .udp, nowMilliseconds: nowMilliseconds, isCut: isCut, into: &reply)
            }
            tally.count(outcome)
            served.append(ServedQuery(outcome, fastPath.remark, client: client))
            switch outcome {
            case .answered, .local, .refused, .limited, .dropped: continue
            case .answeredAndDue(_, let question): notices.append(.due(question))
            case .answeredAwaited(_, let question): notices.append(.servedAgain(question))
            case .miss(let query):
                let path = ReplyPath.datagram(socket, peer: peer, askedAddress: batch.askedAddress(place))
                notices.append(
                    .asked(
                        Handover(
                            query: query, hash: fastPath.hash, packet: batch.bytes(place), client: client, path: path,
                            receivedAt: now)))
            }
        }
    }

    /// Refuses a question because the main thread is behind: the client need not wait for its own time-out.
    private mutating func refuse(_ handover: Handover) {
        guard case .datagram(let socket, let peer, let askedAddress) = handover.path else { return }
        let packet = handover.packet
        tally[.handedOver] -= 1
        refusals.add(to: peer, from: askedAddress, through: socket) { output in
            Reply.write(
                code: .serverFailure, to: handover.query, in: packet.span, extendedError: .notReady, into: &output)
        }
        let outcome: ServedQuery
        refusals.send()
        if refusals.takeUnsent() == 0 {
            tally.add(.failureResponses)
            tally.count(.serverFailure)
            outcome = ServedQuery(
                .answered, from: .failure, .serverFailure, extendedError: ExtendedError.notReady.code,
                client: handover.client)
        } else {
            tally.add(.droppedOverload)
            outcome = ServedQuery(.dropped, outcome: .overload, client: handover.client)
        }
        telemetry.ring.record(
            outcome, atNanoseconds: Clock.nanosecondsSinceBoot(handover.receivedAt), microseconds: 0,
            in: packet.span)
    }

    /// Hands over the notices and returns how many questions were refused. A lost `due` notice leaves the answer to
    /// the prefetch plan or to expiry. A lost `servedAgain` notice is not repeated until another answer is stored.
    private mutating func handOver() -> Int {
        guard !notices.isEmpty else { return 0 }
        let accepted = mailbox.post(contentsOf: notices)
        for case .asked(let handover) in notices[accepted...] { refuse(handover) }
        defer { notices.removeAll(keepingCapacity: true) }
        return notices.count - accepted
    }
}

/// Counters that a serving thread writes and other threads read.
struct ThreadTelemetry: Sendable {
    let tally = PublishedTally()
    /// Durations from the receipt of a batch until its replies are sent.
    let hitDurations = PublishedHistogram()
    let ring: FlightRing
}

extension ServedQuery {
    /// - Parameter remark: `FastPath.remark` directly after the outcome.
    init(_ outcome: FastPath.Outcome, _ remark: UInt16?, client: Address) {
        switch outcome {
        case .answered(let code), .answeredAndDue(let code, _), .answeredAwaited(let code, _):
            self.init(.answered, from: .cache, code, client: client)
        case .local: self.init(.answered, from: .local, extendedError: remark, client: client)
        case .refused(let code): self.init(.refused, from: .refused, code, extendedError: remark, client: client)
        case .limited(let code): self.init(.answered, from: .limited, code, client: client)
        case .dropped(.short): self.init(.dropped, outcome: .short, client: client)
        case .dropped(.reply): self.init(.dropped, outcome: .reply, client: client)
        case .dropped(.rateLimited): self.init(.dropped, outcome: .rateLimited, client: client)
        case .miss: self.init(.handedOver, client: client)
        }
    }
}

extension Tally {
    /// Counts an outcome. A miss counts for the cache only; the main thread counts its response.
    mutating func count(_ outcome: FastPath.Outcome) {
        switch outcome {
        case .answered(let code), .answeredAndDue(let code, _), .answeredAwaited(let code, _):
            add(.cacheHits, .cacheResponses, Count(code))
        case .local:
            add(.localResponses)
            count(.noError)
        case .refused(let code):
            add(.refusedResponses)
            count(code)
        case .limited(let code):
            add(.limitedResponses)
            count(code)
        case .dropped(.short): add(.droppedShort)
        case .dropped(.reply): add(.droppedReply)
        case .dropped(.rateLimited): add(.droppedRateLimited)
        case .miss: add(.cacheMisses)
        }
    }

    package mutating func count(_ code: ResponseCode) { add(Count(code)) }
}

extension Count {
    fileprivate init(_ code: ResponseCode) {
        self =
            switch code {
            case .noError: .noError
            case .formatError: .formatError
            case .serverFailure: .serverFailure
            case .noSuchName: .noSuchName
            case .notImplemented: .notImplemented
            case .refused: .refused
            case .badVersion: .badVersion
            case .badCookie: .badCookie
            default: .otherCode
            }
    }
}
