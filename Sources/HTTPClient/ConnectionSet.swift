// One libcurl multi handle: connections to one endpoint and the transfers on them. Reports socket changes to the
// event loop before each call returns and before another set runs. libcurl closes some sockets silently, and the
// kernel may reuse their descriptors in the next call.

import CCurl
import DNSWire

final class ConnectionSet {
    /// HTTP/2 needs one. For HTTP/1.1 this bounds the parallel requests (browsers use 6).
    static let maxConnections = 8
    /// The smallest stream limit that RFC 9113 section 6.5.2 recommends to servers.
    static let maxStreams = 100

    typealias Ended = (transfer: Transfer, result: Result<TransferReply, TransferFailure>)
    typealias Interest = (_ descriptor: Int32, _ wants: SocketInterest) -> Void

    private(set) var transfers: [Transfer] = []
    /// All transfers started here; an upper bound for the requests on any connection of the set. libcurl reports a
    /// transfer's connection only when it has ended.
    private(set) var startedCount = 0
    /// When libcurl requests its next timer call.
    private(set) var dueAt: Instant?
    private let interest: Interest
    private let ledger = SocketLedger()
    private var ended: [Ended] = []
    /// Nil: the set is closed.
    private var multi: MultiHandle?

    init(interest: @escaping Interest) throws(TransferFailure) {
        self.interest = interest
        multi = try MultiHandle(ledger: ledger)
    }

    var openSockets: Int { ledger.openSockets }
    var openedSockets: Int { ledger.openedSockets }

    /// Returns the progress of the connection from this local port; nil if there is none.
    func progress(from port: Int) -> ConnectionProgress? { ledger.progress(from: port) }

    /// Returns true if the peer's kernel has acknowledged the transfer's request, or the handshake if no request was
    /// sent.
    func isAcknowledged(_ transfer: Transfer) -> Bool {
        // The transfer waits for a connection of another transfer.
        guard let progress = progress(from: transfer.localPort) else {
            return ledger.connections.contains(where: \.isAcknowledged)
        }
        guard let sentAt = transfer.sentAt else { return progress.isAcknowledged }
        return progress.acknowledged >= sentAt.sent
    }

    /// True if the peer's kernel has accepted a connection of the set.
    var hasConnected: Bool { ledger.connections.contains(where: \.isEstablished) }

    /// Records the connection's progress; called after each sent part of the request.
    func noteSending(of transfer: Transfer) {
        if transfer.isSent { transfer.noteSending(progress(from: transfer.localPort)) }
    }

    func isWatching(_ descriptor: Int32) -> Bool { ledger.isWatching(descriptor) }

    func start(
        _ request: TransferRequest, id: TransferID, retryAfter waited: Duration?, now: Instant
    ) throws(TransferFailure) -> Transfer {
        let transfer = try Transfer(id: id, request: request, retryAfter: waited, ledger: ledger)
        guard unsafe curl_multi_add_handle(multi?.raw, transfer.easy) == CURLM_OK else {
            throw .local("libcurl accepts no more transfers")
        }
        transfers.append(transfer)
        startedCount += 1
        act(on: CURL_SOCKET_TIMEOUT, mayTimeOut: dueAt.map { $0 <= now } ?? false, now: now)
        return transfer
    }

    /// Ignores a transfer that is not in the set.
    func cancel(_ transfer: Transfer, now: Instant) {
        ended.removeAll { $0.transfer === transfer }
        guard let index = transfers.firstIndex(where: { $0 === transfer }) else { return }
        remove(at: index)
        settle(now: now)
    }

    func socketReady(
        _ descriptor: Int32, readable: Bool, writable: Bool, failed: Bool, now: Instant
    ) {
        let events = [(readable, CURL_CSELECT_IN), (writable, CURL_CSELECT_OUT), (failed, CURL_CSELECT_ERR)]
        act(on: descriptor, events: events.filter(\.0).map(\.1).reduce(0, |), now: now)
    }

    func timePassed(now: Instant) {
        guard let at = dueAt, at <= now else { return }
        dueAt = nil
        act(on: CURL_SOCKET_TIMEOUT, mayTimeOut: true, now: now)
    }

    func takeEnded() -> [Ended] {
        defer { ended.removeAll(keepingCapacity: true) }
        return ended
    }

    /// Ends every transfer without a result and closes every connection. The set cannot be used afterwards.
    func close() {
        while !transfers.isEmpty { remove(at: transfers.count - 1) }
        multi = nil
        ledger.forgetSockets()
        ledger.deliver(to: interest)
        dueAt = nil
    }

    private func act(
        on descriptor: Int32, events: Int32 = 0, mayTimeOut: Bool = false, now: Instant
    ) {
        guard let raw = unsafe multi?.raw else { return }
        // Read before libcurl closes the connections: a transfer that times out may have waited for one of them.
        let hasNeighbour = mayTimeOut && ledger.connections.contains(where: \.isEstablished)
        var running: Int32 = 0
        _ = unsafe curl_multi_socket_action(raw, descriptor, events, &running)
        var remaining: Int32 = 0
        while let message = unsafe curl_multi_info_read(raw, &remaining) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            guard let index = transfers.firstIndex(where: { unsafe $0.easy == message.pointee.easy_handle })
            else { continue }
            let result = transfers[index].result(
                unsafe ccurl_message_result(message), hasNeighbour: hasNeighbour)
            ended.append((transfers[index], result))
            remove(at: index)
        }
        settle(now: now)
    }

    private func remove(at index: Int) {
        _ = unsafe curl_multi_remove_handle(multi?.raw, transfers[index].easy)
        transfers.remove(at: index)
    }

    private func settle(now: Instant) {
        switch ledger.takeTimer() {
        case .unchanged: break
        case .off: dueAt = nil
        case .after(let milliseconds): dueAt = now.advanced(by: .milliseconds(milliseconds))
        }
        ledger.deliver(to: interest)
    }

    deinit {
        for transfer in transfers { _ = unsafe curl_multi_remove_handle(multi?.raw, transfer.easy) }
        // The multi handle's callbacks write to the ledger, so it is freed first.
        multi = nil
    }
}

/// Owns a multi handle. The ledger must outlive it, and all transfers must be removed before it is freed.
@safe private struct MultiHandle: ~Copyable {
    let raw: UnsafeMutableRawPointer

    init(ledger: SocketLedger) throws(TransferFailure) {
        guard let raw = unsafe curl_multi_init() else { throw .local("no memory for a connection pool") }
        unsafe self.raw = raw
        _ = unsafe ccurl_multi_set_long(raw, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX)
        _ = unsafe ccurl_multi_set_long(raw, CURLMOPT_MAX_HOST_CONNECTIONS, ConnectionSet.maxConnections)
        _ = unsafe ccurl_multi_set_long(raw, CURLMOPT_MAXCONNECTS, ConnectionSet.maxConnections)
        _ = unsafe ledger.watch(raw)
    }

    deinit {
        _ = unsafe curl_multi_cleanup(raw)
    }
}
