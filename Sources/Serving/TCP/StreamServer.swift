// DNS over TCP (RFC 7766, 9210): accepts connections, answers from the cache, hands over misses, and writes answers
// in any order. Bounds connections in number, time, questions in flight and unsent bytes.

package import DNSWire
package import LinuxIO
package import Telemetry

package final class StreamServer: TimedPart {
    /// Bound of the unsent bytes of all connections together. Above it, a connection with more than one maximum message
    /// is closed. The others hold at most 512 times 64 KiB, so that the sum stays near 64 MiB.
    private static let maxUnsentBytes = 32 << 20
    /// Connections accepted per turn, so that a flood of connections does not block the loop.
    private static let maxAccepts = 64
    /// Questions of one connection per turn, before other connections are served.
    private static let maxQuestionsPerTurn = 256
    private static let readBytes = 16 * 1024

    private typealias Member = (id: ConnectionID, connection: StreamConnection)

    package let timer = PartTimer()
    private let loop: EventLoop
    private let access: AccessList
    private let listeners: [StreamListener]
    private var acceptPause: AcceptPause { didSet { timer.changed() } }
    /// The connections by place.
    private var members: [Member?] = []
    private var freePlaces: [Int] = []
    /// The deadlines by place. Always up to date, because the loop reads the earliest one after each change.
    private var deadlines = DeadlineQueue() { didSet { timer.changed() } }
    private var unsentBytes = 0
    /// The bytes of the latest read and the latest reply. One buffer for all connections: 16 and 64 KiB are much to
    /// allocate for each question.
    private var received = [UInt8](repeating: 0, count: StreamServer.readBytes)
    private var reply: [UInt8] = []
    private var quota: ConnectionQuota
    private var nextNumber: UInt64 = 0
    private var fastPath: FastPath
    private var notices: [Notice] = [] { didSet { timer.changed() } }
    package private(set) var refusedConnections: UInt64 = 0
    /// Connections that were closed to make room for a new one.
    package private(set) var evictedConnections: UInt64 = 0
    package private(set) var tally = Tally()
    package private(set) var hitDurations = LatencyHistogram()
    private let ring: FlightRing

    /// - Parameters:
    ///   - ring: receives an event for each query, with the fast path's outcome.
    ///   - maxConnections: the bound of all connections, at most `ConnectionQuota.maxConnections`.
    package init(
        listeners: [StreamListener], loop: EventLoop, access: AccessList, fastPath: consuming FastPath,
        ring: FlightRing, maxConnections: Int
    ) {
        self.listeners = listeners
        self.loop = loop
        acceptPause = AcceptPause(loop)
        self.access = access
        self.fastPath = fastPath
        self.ring = ring
        quota = ConnectionQuota(limit: maxConnections)
    }

    /// Accepts connections from now on.
    ///
    /// - Parameter adopted: connections that a former process accepted.
    /// - Throws: ENOMEM or ENOSPC if a listener cannot be watched.
    package func start(adopting adopted: [(peer: SocketAddress, socket: StreamSocket)] = []) throws(SystemError) {
        for listener in listeners {
            let registration = try loop.watch(listener.descriptor, for: .readable) { [unowned self] _ in
                accept(from: listener)
            }
            acceptPause.add(registration)
        }
        for (peer, socket) in adopted { admit(socket, peer.address, .tcp) }
    }

    package var nextDeadline: Instant? {
        notices.isEmpty ? Instant.earliest(deadlines.earliest, acceptPause.until) : .atOnce
    }

    // MARK: end

    /// Leaves what clients send from now on to the next process: accepts no connection, and reads only the rest of
    /// messages that have begun.
    package func finish(now: Instant) {
        acceptPause.stop()
        for case let (id, connection)? in members {
            connection.finish()
            pump(id, connection, now: now)
        }
    }

    /// Whether every connection is between two messages, with all answers written.
    package var isFinished: Bool { members.allSatisfy { $0?.connection.isBetweenMessages ?? true } }

    /// Descriptors of the connections that another process can continue. Those that are not between two messages end
    /// with this process.
    package var descriptorsToKeep: [Int32] {
        members.compactMap { $0?.connection }.filter(\.isBetweenMessages).map(\.descriptor)
    }

    package var openConnections: Int { members.count - freePlaces.count }

    /// Takes what the main thread has to know: questions to be fetched, and news of served answers.
    package func takeNotices() -> [Notice] {
        guard !notices.isEmpty else { return [] }
        defer { notices.removeAll(keepingCapacity: true) }
        return notices
    }

    /// Sends an answer. Returns false if the client has gone.
    func send(_ message: [UInt8], to id: ConnectionID, now: Instant) -> Bool {
        guard let connection = connection(id) else { return false }
        connection.answered(with: message, now: now)
        pump(id, connection, now: now)
        return true
    }

    /// Ends connections that are idle, old, slow to write their question or slow to read their answers.
    package func timePassed(now: Instant) {
        acceptPause.timePassed(now: now)
        while let place = deadlines.popDue(now) {
            guard let (id, connection) = members[place] else { continue }
            if connection.retires(now: now), !connection.isOver {
                deadlines.set(connection.deadline, for: place)
                try? loop.change(connection.registration, to: connection.interest)
            } else {
                close(id, connection)
            }
        }
    }

    // MARK: connections

    private func accept(from listener: StreamListener) {
        for _ in 0..<StreamServer.maxAccepts {
            do throws(SystemError) {
                guard let (socket, client) = try listener.accept() else { return }
                admit(socket, client, listener.transport)
            } catch {
                // Other errors concern the connection that was being accepted; its client is gone.
                guard !error.isExhaustion else { return acceptPause.begin(now: Clock.now()) }
            }
        }
    }

    private func admit(_ socket: StreamSocket, _ client: Address, _ transport: Transport) {
        guard access.allows(client) else {
            refusedConnections += 1
            return
        }
        let now = Clock.now()
        // Terminates because each turn closes a connection.
        while let share = quota.fullShare(for: client) { makeRoom(in: share, now: now) }
        quota.admit(client)
        open(socket, client, transport, now: now)
    }

    /// Closes the least valuable connection of a full share. A client whose connection closes opens a new one (RFC
    /// 7766 section 6.2.4); closing the new connection would look like a failure.
    private func makeRoom(in share: ConnectionQuota.Share, now: Instant) {
        let candidates = members.compactMap { $0 }.filter { share.contains($0.connection.client) }
        let victim = candidates.min { left, right in
            let (one, other) = (left.connection.evictionOrder(now: now), right.connection.evictionOrder(now: now))
            return one == other ? left.id.number < right.id.number : one < other
        }
        guard let victim else { preconditionFailure("a full share has connections") }
        evictedConnections += 1
        close(victim.id, victim.connection)
    }

    private func open(_ socket: StreamSocket, _ client: Address, _ transport: Transport, now: Instant) {
        let id = ConnectionID(place: freePlaces.last ?? members.count, number: nextNumber)
        nextNumber += 1
        let interest = StreamConnection.initialInterest
        let watched = try? loop.watch(socket.descriptor.raw, for: interest) { [unowned self] readiness in
            self.ready(id, readiness)
        }
        guard let registration = watched else {
            quota.release(client)
            refusedConnections += 1
            return
        }
        if freePlaces.popLast() == nil { members.append(nil) }
        let connection = StreamConnection(socket, client, transport, registration, now: now)
        members[id.place] = (id, connection)
        deadlines.set(connection.deadline, for: id.place)
    }

    /// Returns the connection; nil if it has ended.
    private func connection(_ id: ConnectionID) -> StreamConnection? {
        guard let member = members[id.place], member.id == id else { return nil }
        return member.connection
    }

    private func close(_ id: ConnectionID, _ connection: StreamConnection) {
        loop.forget(connection.registration)
        members[id.place] = nil
        freePlaces.append(id.place)
        deadlines.remove(id.place)
        unsentBytes -= connection.countedBytes
        quota.release(connection.client)
    }

    private func ready(_ id: ConnectionID, _ readiness: Readiness) {
        guard let connection = connection(id) else { return }
        let now = Clock.now()
        if readiness.contains(.hangUp) || readiness.contains(.failed) { connection.cut() }
        if readiness.contains(.peerClosed) { connection.peerClosed() }
        if readiness.contains(.readable) { connection.becameReadable() }
        pump(id, connection, now: now)
    }

    /// Reads, answers and writes in bounded turns, so that other connections are served; closes the connection if it
    /// has ended.
    private func pump(_ id: ConnectionID, _ connection: StreamConnection, now: Instant) {
        connection.write(now: now)
        for _ in 0..<StreamServer.maxQuestionsPerTurn {
            guard let message = connection.nextQuestion(now: now, &received) else { break }
            answer(message, id, connection, now: now)
            // A client that reads as fast as it asks gets its answers in few writes, and never counts as slow.
            if !connection.hasQuestion { connection.write(now: now) }
        }
        connection.write(now: now)
        connection.isBehind = connection.hasQuestion
        countUnsent(connection)
        if connection.isOver {
            close(id, connection)
        } else {
            deadlines.set(connection.deadline, for: id.place)
            // The change cannot fail for a descriptor that is watched already.
            try? loop.change(connection.registration, to: connection.interest)
        }
    }

    private func countUnsent(_ connection: StreamConnection) {
        unsentBytes += connection.unsentBytes - connection.countedBytes
        connection.countedBytes = connection.unsentBytes
        if unsentBytes > StreamServer.maxUnsentBytes, connection.unsentBytes > StreamFraming.maxMessageBytes {
            connection.cut()
        }
    }

    private func answer(_ message: [UInt8], _ id: ConnectionID, _ connection: StreamConnection, now: Instant) {
        tally.addQueries(over: connection.transport)
        var outcome = FastPath.Outcome.local
        let nowMilliseconds = Clock.millisecondsSinceBoot(now)
        reply.removeAll(keepingCapacity: true)
        reply.append(addingCapacity: StreamFraming.maxMessageBytes) { output in
            outcome = fastPath.respond(
                to: message.span, from: connection.client, over: connection.transport,
                nowMilliseconds: nowMilliseconds, into: &output)
        }
        tally.count(outcome)
        let took = now.duration(to: Clock.now())
        var served = ServedQuery(outcome, fastPath.remark, client: connection.client)
        served.transport = connection.transport
        ring.record(
            served, atNanoseconds: Clock.nanosecondsSinceBoot(now), microseconds: took.microsecondsRoundedUp,
            in: message.span)
        switch outcome {
        case .answered, .answeredAndDue, .answeredAwaited: hitDurations.record(took)
        case .local, .refused, .limited, .dropped, .miss: break
        }
        switch outcome {
        case .answered, .local, .refused, .limited, .dropped: break
        case .answeredAndDue(_, let question): notices.append(.due(question))
        case .answeredAwaited(_, let question): notices.append(.servedAgain(question))
        case .miss(let query):
            tally[.handedOver] += 1
            notices.append(
                .asked(
                    Handover(
                        query: query, hash: fastPath.hash, packet: message, client: connection.client,
                        path: .connection(id), receivedAt: now)))
            return
        }
        connection.answered(with: reply, now: now)
    }
}
