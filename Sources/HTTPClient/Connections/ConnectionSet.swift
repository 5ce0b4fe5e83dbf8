// Connections to one endpoint and the transfers on them. Over HTTP/2, one connection carries all requests as a rule,
// and more do while a connection drains or all streams are in use. Over HTTP/1.1, each carries one request at a time.

import DNSWire

final class ConnectionSet {
    /// Identifies the set in its pool.
    let number: Int
    private let dialer: Dialer
    private var connections: [Connection] = []
    /// The HTTP/1.1 connections without a request, the most recently used last.
    private var idle: [Connection] = []
    /// Requests that wait for a connection, in the order of their arrival.
    private var waiting: [Transfer] = []
    private let ended: EndedTransfers
    private(set) var openedSockets = 0
    /// Connections with requests or resets for `flush`.
    private var queued: [Connection] = []
    /// When the first of them was queued.
    private var unsentSince: Instant?
    /// Memory for the connections that `flush` takes.
    private var flushing: [Connection] = []
    /// An instant at or before the deadlines of all transfers and dials; nil: there are none.
    private var checkAt: Instant?
    /// The server chose HTTP/1.1 for the last connection, or is expected to.
    private var speaksHTTP1: Bool

    /// Maximum number of HTTP/2 connections: a server may allow few streams on each.
    private static let maxSharedConnections = 8
    /// Maximum number of refusals of a transfer by connections that have processed nothing of it.
    private static let maxRefusals = 1

    /// - Parameters:
    ///   - speaksHTTP1: true if requests are not to wait for one connection, since the server is expected to choose
    ///     HTTP/1.1.
    ///   - ended: receives the transfers that end, each exactly once unless it is cancelled.
    init(_ dialer: Dialer, number: Int, speaksHTTP1: Bool, _ ended: EndedTransfers) {
        (self.dialer, self.number, self.speaksHTTP1, self.ended) = (dialer, number, speaksHTTP1, ended)
    }

    /// True if no transfer runs.
    var isIdle: Bool { waiting.isEmpty && connections.allSatisfy(\.transfers.isEmpty) }

    var openSockets: Int { connections.count }

    /// When `timePassed` is due.
    var dueAt: Instant? {
        let earliest = Instant.earliest(unsentSince, checkAt)
        return idle.isEmpty ? earliest : Instant.earliest(earliest, idleUntil)
    }

    /// When the connection that has been idle for the longest time is closed.
    private var idleUntil: Instant? { idle.first?.idleSince.map { $0 + dialer.endpoint.idleTimeout } }

    /// Returns whether one of the connections has this local port.
    func hasConnection(from port: Int) -> Bool { connections.contains { $0.state.localPort == port } }

    /// Returns true if the peer's kernel has acknowledged the transfer's request, or the handshake if no request was
    /// sent.
    func isAcknowledged(_ transfer: Transfer) -> Bool {
        // The transfer waits for a connection, its own or that of another transfer.
        guard let progress = transfer.connection?.progress else {
            return connections.contains { $0.state.socketProgress?.isAcknowledged ?? false }
        }
        guard let sentAt = transfer.sentAt else { return progress.isAcknowledged }
        return progress.acknowledged >= sentAt.sent
    }

    /// True if the peer's kernel has accepted a connection of the set.
    var hasConnected: Bool { connections.contains { $0.state.socketProgress?.isEstablished ?? false } }

    func isWatching(_ descriptor: Int32) -> Bool { connections.contains { $0.descriptor == descriptor } }

    /// Queues the request; `flush` sends it.
    func start(_ transfer: Transfer, now: Instant) {
        transfer.setNumber = number
        do throws(TransferFailure) {
            // Requests that wait have arrived before.
            guard waiting.isEmpty || !speaksHTTP1, try place(transfer, now: now) else { return wait(transfer) }
        } catch {
            fail(transfer, error)
        }
    }

    /// Cancels a transfer. Ignores a transfer that is not in the set.
    func cancel(_ transfer: Transfer, now: Instant) {
        guard transfer.setNumber == number else { return }
        waiting.removeAll { $0 === transfer }
        guard let connection = connection(of: transfer) else { return }
        connection.cancel(transfer)
        queue(connection, now: now)
        settle(connection, now: now)
    }

    private func connection(of transfer: Transfer) -> Connection? {
        guard let state = transfer.connection else { return nil }
        return connections.first { $0.state === state }
    }

    func socketReady(_ descriptor: Int32, now: Instant) {
        guard let connection = connections.first(where: { $0.descriptor == descriptor }) else { return }
        connection.proceed(now: now)
        settle(connection, now: now)
    }

    /// True if `flush` has something to send.
    var hasQueued: Bool { unsentSince != nil }

    /// Sends the requests that were started since the last call.
    func flush(now: Instant) {
        guard hasQueued else { return }
        unsentSince = nil
        // A request that starts again is queued for the next call.
        swap(&queued, &flushing)
        for connection in flushing {
            connection.isQueued = false
            connection.flush(now: now)
            settle(connection, now: now)
        }
        flushing.removeAll(keepingCapacity: true)
    }

    /// Sends a PING on the transfer's connection, if HTTP/2 carries it.
    func ping(_ transfer: Transfer, now: Instant) {
        guard let connection = connection(of: transfer) else { return }
        connection.ping()
        queue(connection, now: now)
        flush(now: now)
    }

    func timePassed(now: Instant) {
        flush(now: now)
        closeUnused(now: now)
        guard let checkAt, checkAt <= now else { return }
        endOverdue(now: now)
        flush(now: now)
        self.checkAt = nil
        for transfer in waiting { check(at: transfer.deadline(isConnected: true)) }
        for connection in connections {
            if !connection.isOpen { check(at: connection.dialDeadline) }
            for transfer in connection.transfers {
                check(at: transfer.deadline(isConnected: connection.isOpen))
            }
        }
    }

    /// Ends every transfer without a result and closes every connection. The set cannot be used afterwards.
    func close() {
        for connection in connections {
            for transfer in connection.transfers { connection.cancel(transfer) }
            connection.end(.networkChanged)
        }
        (connections, idle, waiting, queued) = ([], [], [], [])
        (checkAt, unsentSince) = (nil, nil)
    }

    // MARK: time

    private func check(at deadline: Instant) { checkAt = min(checkAt ?? deadline, deadline) }

    private func endOverdue(now: Instant) {
        let failure = connections.contains(where: \.isEstablished) ? TransferFailure.timeout : .unacknowledged
        for transfer in waiting where transfer.deadline(isConnected: true) <= now {
            waiting.removeAll { $0 === transfer }
            fail(transfer, failure)
        }
        for connection in connections {
            for transfer in connection.transfers {
                guard transfer.deadline(isConnected: connection.isOpen) <= now else { continue }
                connection.cancel(transfer)
                queue(connection, now: now)
                fail(transfer, failure)
            }
            if !connection.isOpen, connection.dialDeadline <= now { leaveDial(connection, now: now) }
            settle(connection, now: now)
        }
    }

    /// Leaves a dial that failed. The requests that still wait came later than the one that opened the connection, so
    /// they have time left.
    private func leaveDial(_ connection: Connection, now: Instant) {
        let waiting = connection.transfers
        for transfer in waiting { connection.cancel(transfer) }
        connection.end(.unacknowledged)
        for transfer in waiting { startAgain(transfer, now: now) }
    }

    /// Closes the HTTP/1.1 connections that have been idle for too long: the server may be about to close them.
    private func closeUnused(now: Instant) {
        while let until = idleUntil, until <= now { close(idle[0]) }
    }

    private func close(_ connection: Connection) {
        connection.end(.reset)
        remove(connection)
    }

    private func remove(_ connection: Connection) {
        connections.removeAll { $0 === connection }
        if connection.idleSince != nil { idle.removeAll { $0 === connection } }
    }

    // MARK: requests

    /// Other connections send their requests when they are open.
    private func queue(_ connection: Connection, now: Instant) {
        guard connection.isOpen else { return }
        unsentSince = unsentSince ?? now
        guard !connection.isQueued else { return }
        connection.isQueued = true
        queued.append(connection)
    }

    private func wait(_ transfer: Transfer) {
        waiting.append(transfer)
        check(at: transfer.deadline(isConnected: true))
    }

    /// - Returns: false if the transfer must wait.
    private func place(_ transfer: Transfer, now: Instant) throws(TransferFailure) -> Bool {
        let free = freeConnection(for: transfer.request, now: now)
        let connection = if let free { free } else { try dial(for: transfer, now: now) }
        guard let connection else { return false }
        try connection.start(transfer)
        queue(connection, now: now)
        check(at: transfer.deadline(isConnected: connection.isOpen))
        check(at: transfer.deadline(isConnected: true))
        return true
    }

    private func freeConnection(for request: TransferRequest, now: Instant) -> Connection? {
        guard !request.needsOwnConnection else { return nil }
        if speaksHTTP1 {
            closeUnused(now: now)
            return idle.popLast()
        }
        if let free = connections.last(where: { $0.isShared && $0.hasFreeStream }) { return free }
        // Without a free stream, the request waits for one. Connections that drain are not counted: each ends with its
        // last transfer.
        guard connections.count(where: \.isShared) >= ConnectionSet.maxSharedConnections else { return nil }
        return connections.reversed().filter(\.isShared).min { $0.transfers.count < $1.transfers.count }
    }

    /// - Returns: nil if there are enough connections.
    private func dial(for transfer: Transfer, now: Instant) throws(TransferFailure) -> Connection? {
        if connections.count >= ParallelRequests.maxConnections {
            // A request with a connection of its own takes the place of an idle one.
            guard let unused = idle.first else { return nil }
            close(unused)
        }
        let connection = try Connection(dialer, for: transfer.request, now: now)
        openedSockets += 1
        transfer.opensConnection = true
        connections.append(connection)
        check(at: connection.dialDeadline)
        return connection
    }

    private func placeWaiting(now: Instant) {
        while let transfer = waiting.first {
            do throws(TransferFailure) {
                guard try place(transfer, now: now) else { return }
                waiting.removeFirst()
            } catch {
                waiting.removeFirst()
                fail(transfer, error)
            }
        }
    }

    /// Ends and moves the transfers of a connection after its state may have changed.
    private func settle(_ connection: Connection, now: Instant) {
        if connection.isOpen { speaksHTTP1 = connection.speaksHTTP1 || dialer.requiresHTTP1 }
        // Before a transfer has left: the first one is the only one that the connection carries.
        for transfer in connection.takeSurplus() { startAgain(transfer, now: now) }
        connection.takeEnded { conclude($0, $1, now: now) }
        if connection.isOpen {
            settleOpen(connection, now: now)
        } else if case .ended(let failure) = connection.phase {
            remove(connection)
            for transfer in connection.transfers { leave(connection, transfer, failure, now: now) }
        } else if connection.transfers.isEmpty {
            close(connection)
        }
        if !waiting.isEmpty { placeWaiting(now: now) }
    }

    private func settleOpen(_ connection: Connection, now: Instant) {
        guard connection.speaksHTTP1 else {
            if connection.transfers.isEmpty, speaksHTTP1 || !connection.isShared { close(connection) }
            return
        }
        guard connection.transfers.isEmpty, connection.idleSince == nil else { return }
        guard connection.isFree else { return close(connection) }
        connection.idleSince = now
        idle.append(connection)
    }

    private func conclude(_ transfer: Transfer, _ end: TransferEnd, now: Instant) {
        switch end {
        case .complete: ended.add(transfer, transfer.reply(now: now))
        case .failed(let failure): fail(transfer, failure)
        case .wantsHTTP1:
            dialer.requiresHTTP1 = true
            speaksHTTP1 = true
            startAgain(transfer, now: now)
        // Some servers end a connection after a number of requests, so each further connection takes the next requests.
        case .leftOver: startAgain(transfer, now: now)
        case .refused: refused(transfer, .reset, now: now)
        }
    }

    /// Starts the transfer again, or fails it if it was started again already.
    private func refused(_ transfer: Transfer, _ failure: TransferFailure, now: Instant) {
        transfer.refusals += 1
        if transfer.refusals <= ConnectionSet.maxRefusals {
            startAgain(transfer, now: now)
        } else {
            fail(transfer, failure)
        }
    }

    /// Ends the transfer of a connection that has ended with this failure, or starts it again.
    private func leave(_ connection: Connection, _ transfer: Transfer, _ failure: TransferFailure, now: Instant) {
        connection.cancel(transfer)
        if connection.speaksHTTP1, transfer.sentAt == nil, !transfer.opensConnection {
            // The connection has ended while it was idle. Any number may have, and each is gone now.
            startAgain(transfer, now: now)
        } else if connection.hasNotCarried(transfer) {
            refused(transfer, failure, now: now)
        } else {
            fail(transfer, failure)
        }
    }

    private func fail(_ transfer: Transfer, _ failure: TransferFailure) {
        ended.add(transfer, .failure(transfer.isOversized ? .oversized : failure))
    }

    private func startAgain(_ transfer: Transfer, now: Instant) {
        transfer.restart()
        start(transfer, now: now)
    }
}

extension Transfer {
    fileprivate func deadline(isConnected: Bool) -> Instant {
        startedAt + (isConnected ? request.timeout : min(request.timeout, request.connectTimeout))
    }
}
