// HTTP/2 connections to one endpoint and the transfers on them: one connection as a rule, more while a connection
// drains or all streams are in use.

import DNSWire

final class HTTP2Connections: Connections {
    private let endpoint: HTTPEndpoint
    private let client: TLSClient
    private let interest: InterestHandler
    private var connections: [HTTP2Connection] = []
    private let ended: EndedTransfers
    private(set) var openedSockets = 0
    /// When the first request or reset was queued since the last `flush`.
    private var unsentSince: Instant?
    /// An instant at or before the deadlines of all transfers and dials; nil: there are none.
    private var checkAt: Instant?
    /// Transfers of a server that does not speak HTTP/2.
    private var refusedTransfers: [Transfer] = []

    /// Maximum number of connections: a server may allow few streams on each.
    private static let maxConnections = 8
    /// Maximum number of refusals of a transfer by connections that have processed nothing of it.
    private static let maxRefusals = 1

    init(
        to endpoint: HTTPEndpoint, _ client: TLSClient, _ ended: EndedTransfers, interest: @escaping InterestHandler
    ) {
        (self.endpoint, self.client, self.ended, self.interest) = (endpoint, client, ended, interest)
    }

    var isIdle: Bool { connections.allSatisfy(\.transfers.isEmpty) }

    var openSockets: Int { connections.count }

    var progresses: [ConnectionProgress] { connections.compactMap(\.progress) }

    func progress(from port: Int) -> ConnectionProgress? {
        connections.first { $0.localPort == port && port > 0 }?.progress
    }

    func isWatching(_ descriptor: Int32) -> Bool { connections.contains { $0.descriptor == descriptor } }

    /// When `timePassed` is due.
    var dueAt: Instant? { Instant.earliest(unsentSince, checkAt) }

    /// True if `flush` has something to send.
    var hasQueued: Bool { unsentSince != nil }

    /// Returns the transfers that need another protocol; the server does not speak HTTP/2 for them.
    func takeRefused() -> [Transfer] {
        guard !refusedTransfers.isEmpty else { return [] }
        return exchange(&refusedTransfers, with: [])
    }

    /// Queues the request; `flush` sends it.
    func start(_ transfer: Transfer, now: Instant) throws(TransferFailure) {
        let connection = try connection(for: transfer, now: now)
        transfer.carrier = .http2(connection)
        try connection.start(transfer)
        unsentSince = unsentSince ?? now
        check(at: transfer.deadline(isConnected: connection.isOpen))
        check(at: transfer.deadline(isConnected: true))
    }

    func cancel(_ transfer: Transfer, now: Instant) {
        for connection in connections { connection.cancel(transfer) }
        unsentSince = unsentSince ?? now
        settle(now: now)
    }

    func socketReady(_ descriptor: Int32, readable: Bool, writable: Bool, failed: Bool, now: Instant) {
        connections.first { $0.descriptor == descriptor }?.proceed(now: now)
        settle(now: now)
    }

    func flush(now: Instant) {
        if hasQueued { send(now: now) }
    }

    private func send(now: Instant) {
        unsentSince = nil
        for connection in connections { connection.flush(now: now) }
        settle(now: now)
    }

    /// Sends a PING on the transfer's connection.
    func ping(_ transfer: Transfer, now: Instant) {
        guard case .http2(let connection) = transfer.carrier else { return }
        connection.ping()
        send(now: now)
    }

    func timePassed(now: Instant) {
        send(now: now)
        guard let checkAt, checkAt <= now else { return }
        let hasConnected = connections.contains(where: \.isEstablished)
        for connection in connections {
            for transfer in connection.transfers {
                guard transfer.deadline(isConnected: connection.isOpen) <= now else { continue }
                connection.cancel(transfer)
                fail(transfer, hasConnected ? .timeout : .unacknowledged)
            }
            if !connection.isOpen, connection.dialDeadline <= now { leaveDial(connection, now: now) }
        }
        send(now: now)
        self.checkAt = nil
        for connection in connections {
            if !connection.isOpen { check(at: connection.dialDeadline) }
            for transfer in connection.transfers {
                check(at: transfer.deadline(isConnected: connection.isOpen))
            }
        }
    }

    func close() {
        for connection in connections {
            for transfer in connection.transfers { connection.cancel(transfer) }
            connection.end(.networkChanged)
        }
        connections = []
        (checkAt, unsentSince) = (nil, nil)
    }

    private func check(at deadline: Instant) { checkAt = min(checkAt ?? deadline, deadline) }

    private func connection(for transfer: Transfer, now: Instant) throws(TransferFailure) -> HTTP2Connection {
        if let free = connections.last(where: { $0.isUsable && $0.hasFreeStream }) { return free }
        // Without a free stream, the request waits for one. Connections that drain are not counted: each ends with its
        // last transfer.
        if connections.count(where: \.isUsable) >= HTTP2Connections.maxConnections,
            let usable = connections.reversed().filter(\.isUsable).min(by: { $0.transfers.count < $1.transfers.count })
        {
            return usable
        }
        let connection = try HTTP2Connection(
            to: endpoint, client, connectTimeout: transfer.request.connectTimeout, now: now, interest: interest)
        openedSockets += 1
        transfer.opensConnection = true
        connections.append(connection)
        check(at: connection.dialDeadline)
        return connection
    }

    /// Collects the ended streams of the connections, until nothing changes any more.
    private func settle(now: Instant) {
        var (next, areUsable) = (0, true)
        // A request that starts again may open a connection.
        while next < connections.count {
            let connection = connections[next]
            connection.takeEnded { conclude($0, now: now) }
            areUsable = areUsable && connection.isOpen && connection.isUsable
            next += 1
        }
        if areUsable { return }
        let lost = connections.filter { !$0.isUsable && !$0.isOpen }
        connections.removeAll { connection in lost.contains { $0 === connection } }
        for connection in lost {
            for transfer in connection.transfers { leave(connection, transfer, now: now) }
        }
        for connection in connections where connection.transfers.isEmpty {
            if !connection.isUsable || !connection.isOpen { connection.end(.reset) }
        }
        connections.removeAll { $0.phase == .ended(.reset) }
    }

    private func conclude(_ stream: HTTP2Session.Ended, now: Instant) {
        let transfer = stream.transfer
        switch stream.end {
        case .complete: ended.add(transfer, transfer.reply(now: now))
        case .oversized: fail(transfer, .oversized)
        case .reset: fail(transfer, .reset)
        case .wantsHTTP1: refusedTransfers.append(transfer)
        // Some servers end a connection after a number of requests, so each further connection takes the next requests.
        case .leftOver: startAgain(transfer, now: now)
        case .refused: refused(transfer, .reset, now: now)
        }
    }

    /// Starts the transfer again, or fails it if it was started again already.
    private func refused(_ transfer: Transfer, _ failure: TransferFailure, now: Instant) {
        transfer.refusals += 1
        if transfer.refusals <= HTTP2Connections.maxRefusals {
            startAgain(transfer, now: now)
        } else {
            fail(transfer, failure)
        }
    }

    private func leave(_ connection: HTTP2Connection, _ transfer: Transfer, now: Instant) {
        connection.cancel(transfer)
        switch connection.phase {
        case .speaksHTTP1: refusedTransfers.append(transfer)
        case .ended(let failure) where connection.hasNotCarried(transfer): refused(transfer, failure, now: now)
        case .ended(let failure): fail(transfer, failure)
        case .connecting, .handshaking, .open: preconditionFailure("the connection has ended")
        }
    }

    /// Leaves a dial that failed. The requests that still wait came later than the one that opened the connection, so
    /// they have time left.
    private func leaveDial(_ connection: HTTP2Connection, now: Instant) {
        let waiting = connection.transfers
        for transfer in waiting { connection.cancel(transfer) }
        connection.end(.unacknowledged)
        for transfer in waiting { startAgain(transfer, now: now) }
    }

    private func fail(_ transfer: Transfer, _ failure: TransferFailure) {
        ended.add(transfer, .failure(transfer.isOversized ? .oversized : failure))
    }

    private func startAgain(_ transfer: Transfer, now: Instant) {
        transfer.restart()
        do throws(TransferFailure) {
            try start(transfer, now: now)
        } catch {
            fail(transfer, error)
        }
    }
}

extension Transfer {
    fileprivate func deadline(isConnected: Bool) -> Instant {
        startedAt + (isConnected ? request.timeout : min(request.timeout, request.connectTimeout))
    }
}
