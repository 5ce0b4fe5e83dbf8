// The connections to one endpoint and the transfers on them: one libcurl multi handle. libcurl compares neither the
// name that is checked nor what its TLS callback did before it shares a connection; a handle per endpoint makes
// sharing across identities impossible. A pool without connections is dormant and holds no handle.

import CCurl

final class ConnectionPool {
    /// HTTP/2 needs one; a server with HTTP/1.1 only gets as many in parallel as are polite (browsers use 6).
    static let maxConnections = 8

    typealias Finished = (id: TransferID, result: Result<TransferReply, TransferFailure>)

    let endpoint: HTTPEndpoint
    private(set) var transfers: [Transfer] = []
    private(set) var connections = ConnectionCounts()
    private let ledger = SocketLedger()
    private var multi: MultiHandle?
    /// When libcurl wants to be called.
    private var dueAt: ContinuousClock.Instant?
    /// When the connections are given up; set while no transfer runs.
    private var dormantAt: ContinuousClock.Instant?

    init(endpoint: HTTPEndpoint) {
        self.endpoint = endpoint
    }

    var isDormant: Bool { multi == nil }

    var deadline: ContinuousClock.Instant? {
        guard let dueAt, let dormantAt else { return dueAt ?? dormantAt }
        return min(dueAt, dormantAt)
    }

    func isWatching(_ descriptor: Int32) -> Bool { ledger.isWatching(descriptor) }

    func start(_ request: TransferRequest, id: TransferID) throws(TransferFailure) {
        let transfer = try Transfer(id: id, request: request, ledger: ledger)
        if multi == nil { multi = try MultiHandle(ledger: ledger) }
        dormantAt = nil
        guard unsafe curl_multi_add_handle(multi?.raw, transfer.easy) == CURLM_OK else {
            throw .local("libcurl takes no more transfers")
        }
        transfers.append(transfer)
        act(on: CURL_SOCKET_TIMEOUT)
    }

    func cancel(_ id: TransferID) -> Bool {
        guard let index = transfers.firstIndex(where: { $0.id == id }) else { return false }
        remove(at: index)
        return true
    }

    func socketReady(_ descriptor: Int32, readable: Bool, writable: Bool, failed: Bool) {
        let events = [(readable, CURL_CSELECT_IN), (writable, CURL_CSELECT_OUT), (failed, CURL_CSELECT_ERR)]
        act(on: descriptor, events: events.filter(\.0).map(\.1).reduce(0, |))
    }

    func timePassed(now: ContinuousClock.Instant) {
        if let at = dueAt, at <= now {
            dueAt = nil
            act(on: CURL_SOCKET_TIMEOUT)
        }
        if let at = dormantAt, at <= now, transfers.isEmpty { closeConnections() }
    }

    /// Ends every transfer and closes every connection.
    func renew() -> [Finished] {
        let finished = transfers.map { Finished($0.id, .failure(.networkChanged)) }
        while !transfers.isEmpty { remove(at: transfers.count - 1) }
        closeConnections()
        return finished
    }

    /// After every call in: gives what finished, tells the loop what to watch, and notes the next deadlines.
    func settle(
        now: ContinuousClock.Instant, interest: (_ descriptor: Int32, _ wants: SocketInterest) -> Void
    ) -> [Finished] {
        let finished = takeFinished()
        switch ledger.takeTimer() {
        case .unchanged: break
        case .off: dueAt = nil
        case .after(let milliseconds): dueAt = multi == nil ? nil : now.advanced(by: .milliseconds(milliseconds))
        }
        ledger.deliver(to: interest)
        connections.opened = ledger.openedSockets
        connections.open = ledger.openSockets
        if transfers.isEmpty, multi != nil, dormantAt == nil {
            dormantAt = now.advanced(by: endpoint.idleTimeout)
        }
        return finished
    }

    private func act(on descriptor: Int32, events: Int32 = 0) {
        guard let raw = unsafe multi?.raw else { return }
        var running: Int32 = 0
        _ = unsafe curl_multi_socket_action(raw, descriptor, events, &running)
    }

    private func takeFinished() -> [Finished] {
        var finished: [Finished] = []
        var remaining: Int32 = 0
        while let message = unsafe curl_multi_info_read(multi?.raw, &remaining) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            guard let index = transfers.firstIndex(where: { unsafe $0.easy == message.pointee.easy_handle })
            else { continue }
            let transfer = transfers[index]
            let result = transfer.result(unsafe ccurl_message_result(message))
            if case .success(let reply) = result, reply.connectionWasReused { connections.reused += 1 }
            finished.append((transfer.id, result))
            remove(at: index)
        }
        return finished
    }

    private func remove(at index: Int) {
        _ = unsafe curl_multi_remove_handle(multi?.raw, transfers[index].easy)
        transfers.remove(at: index)
    }

    private func closeConnections() {
        multi = nil
        ledger.forgetSockets()
        dueAt = nil
        dormantAt = nil
    }

    deinit {
        for transfer in transfers { _ = unsafe curl_multi_remove_handle(multi?.raw, transfer.easy) }
        // Before the ledger, which its callbacks write to.
        multi = nil
    }
}

/// Sockets opened so far, those still open, and replies that came over a connection that was there already.
package struct ConnectionCounts: Equatable, Sendable {
    package var open = 0
    package var opened = 0
    package var reused = 0

    package init(open: Int = 0, opened: Int = 0, reused: Int = 0) {
        self.open = open
        self.opened = opened
        self.reused = reused
    }

    package static func + (left: ConnectionCounts, right: ConnectionCounts) -> ConnectionCounts {
        ConnectionCounts(
            open: left.open + right.open, opened: left.opened + right.opened, reused: left.reused + right.reused)
    }
}

/// Owns a multi handle. The ledger outlives it, and no transfer is in it any more when it goes.
@safe private struct MultiHandle: ~Copyable {
    let raw: UnsafeMutableRawPointer

    init(ledger: SocketLedger) throws(TransferFailure) {
        guard let raw = unsafe curl_multi_init() else { throw .local("no memory for a connection pool") }
        unsafe self.raw = raw
        _ = unsafe ccurl_multi_set_long(raw, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX)
        _ = unsafe ccurl_multi_set_long(raw, CURLMOPT_MAX_HOST_CONNECTIONS, ConnectionPool.maxConnections)
        _ = unsafe ccurl_multi_set_long(raw, CURLMOPT_MAXCONNECTS, ConnectionPool.maxConnections)
        _ = unsafe ledger.watch(raw)
    }

    deinit {
        _ = unsafe curl_multi_cleanup(raw)
    }
}
