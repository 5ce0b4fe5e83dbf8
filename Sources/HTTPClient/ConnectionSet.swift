// Some connections to one endpoint and the transfers on them: one libcurl multi handle, from its first request until it
// is closed. What changed in a call is told to the loop before the call is over, and before another set acts: libcurl
// closes some sockets without a word, and their numbers may come back in the next call.

import CCurl

final class ConnectionSet {
    /// HTTP/2 needs one; a server with HTTP/1.1 only gets as many in parallel as are polite (browsers use 6).
    static let maxConnections = 8
    /// Servers should allow at least so many streams on a connection (RFC 9113 section 6.5.2).
    static let maxStreams = 100

    typealias Ended = (transfer: Transfer, result: Result<TransferReply, TransferFailure>)
    typealias Interest = (_ descriptor: Int32, _ wants: SocketInterest) -> Void

    private(set) var transfers: [Transfer] = []
    /// All that were started here, so that none of the set's connections can have carried more. Which connection a
    /// request takes is known only when it is over.
    private(set) var startedCount = 0
    /// When libcurl wants to be called.
    private(set) var dueAt: ContinuousClock.Instant?
    private let interest: Interest
    private let ledger = SocketLedger()
    private var ended: [Ended] = []
    /// Nil when the set is closed.
    private var multi: MultiHandle?

    init(interest: @escaping Interest) throws(TransferFailure) {
        self.interest = interest
        multi = try MultiHandle(ledger: ledger)
    }

    var openSockets: Int { ledger.openSockets }
    var openedSockets: Int { ledger.openedSockets }

    var isUnacknowledged: Bool { ledger.isUnacknowledged }

    func isWatching(_ descriptor: Int32) -> Bool { ledger.isWatching(descriptor) }

    func start(
        _ request: TransferRequest, id: TransferID, retryAfter waited: Duration?, now: ContinuousClock.Instant
    ) throws(TransferFailure) -> Transfer {
        let transfer = try Transfer(id: id, request: request, retryAfter: waited, ledger: ledger)
        guard unsafe curl_multi_add_handle(multi?.raw, transfer.easy) == CURLM_OK else {
            throw .local("libcurl takes no more transfers")
        }
        transfers.append(transfer)
        startedCount += 1
        act(on: CURL_SOCKET_TIMEOUT, now: now)
        return transfer
    }

    /// One that is not in the set is ignored.
    func cancel(_ transfer: Transfer, now: ContinuousClock.Instant) {
        ended.removeAll { $0.transfer === transfer }
        guard let index = transfers.firstIndex(where: { $0 === transfer }) else { return }
        remove(at: index)
        settle(now: now)
    }

    func socketReady(
        _ descriptor: Int32, readable: Bool, writable: Bool, failed: Bool, now: ContinuousClock.Instant
    ) {
        let events = [(readable, CURL_CSELECT_IN), (writable, CURL_CSELECT_OUT), (failed, CURL_CSELECT_ERR)]
        act(on: descriptor, events: events.filter(\.0).map(\.1).reduce(0, |), now: now)
    }

    func timePassed(now: ContinuousClock.Instant) {
        guard let at = dueAt, at <= now else { return }
        dueAt = nil
        act(on: CURL_SOCKET_TIMEOUT, now: now)
    }

    func takeEnded() -> [Ended] {
        defer { ended.removeAll(keepingCapacity: true) }
        return ended
    }

    /// Ends every transfer without a result, and closes every connection; nothing can be started any more.
    func close() {
        while !transfers.isEmpty { remove(at: transfers.count - 1) }
        multi = nil
        ledger.forgetSockets()
        ledger.deliver(to: interest)
        dueAt = nil
    }

    private func act(on descriptor: Int32, events: Int32 = 0, now: ContinuousClock.Instant) {
        guard let raw = unsafe multi?.raw else { return }
        var running: Int32 = 0
        _ = unsafe curl_multi_socket_action(raw, descriptor, events, &running)
        var remaining: Int32 = 0
        while let message = unsafe curl_multi_info_read(raw, &remaining) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            guard let index = transfers.firstIndex(where: { unsafe $0.easy == message.pointee.easy_handle })
            else { continue }
            ended.append((transfers[index], transfers[index].result(unsafe ccurl_message_result(message))))
            remove(at: index)
        }
        settle(now: now)
    }

    private func remove(at index: Int) {
        _ = unsafe curl_multi_remove_handle(multi?.raw, transfers[index].easy)
        transfers.remove(at: index)
    }

    private func settle(now: ContinuousClock.Instant) {
        switch ledger.takeTimer() {
        case .unchanged: break
        case .off: dueAt = nil
        case .after(let milliseconds): dueAt = now.advanced(by: .milliseconds(milliseconds))
        }
        ledger.deliver(to: interest)
    }

    deinit {
        for transfer in transfers { _ = unsafe curl_multi_remove_handle(multi?.raw, transfer.easy) }
        // Before the ledger, which its callbacks write to.
        multi = nil
    }
}

/// Owns a multi handle. The ledger outlives it, and no transfer is in it any more when it goes.
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
