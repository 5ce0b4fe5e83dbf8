// One libcurl multi handle: connections to one endpoint and the transfers on them. Reports socket changes to the
// event loop before each call returns and before another set runs. libcurl closes some sockets silently, and the
// kernel may reuse their descriptors in the next call.

import CCurl
import DNSWire

final class CurlConnections: Connections {
    private var transfers: [Transfer] = []
    /// When libcurl requests its next timer call.
    private(set) var dueAt: Instant?
    private let interest: InterestHandler
    private let ledger = SocketLedger()
    private let ended: EndedTransfers
    /// The multi handle; nil: closed.
    private var multi: MultiHandle?

    init(_ ended: EndedTransfers, interest: @escaping InterestHandler) throws(TransferFailure) {
        (self.ended, self.interest) = (ended, interest)
        multi = try MultiHandle(ledger: ledger)
    }

    var isIdle: Bool { transfers.isEmpty }
    var openSockets: Int { ledger.openSockets }
    var openedSockets: Int { ledger.openedSockets }
    var progresses: [ConnectionProgress] { ledger.connections }

    func progress(from port: Int) -> ConnectionProgress? { ledger.progress(from: port) }

    func isWatching(_ descriptor: Int32) -> Bool { ledger.isWatching(descriptor) }

    func start(_ transfer: Transfer, now: Instant) throws(TransferFailure) {
        let timeout = transfer.request.timeout - transfer.startedAt.duration(to: now)
        let easy = try EasyHandle(transfer.request, timeout: timeout, ledger: ledger)
        try easy.deliver(to: transfer)
        guard unsafe curl_multi_add_handle(multi?.raw, easy.raw) == CURLM_OK else {
            throw .local("libcurl accepts no more transfers")
        }
        transfer.carrier = .libcurl(easy)
        transfers.append(transfer)
        act(on: CURL_SOCKET_TIMEOUT, mayTimeOut: dueAt.map { $0 <= now } ?? false, now: now)
    }

    func cancel(_ transfer: Transfer, now: Instant) {
        guard let index = transfers.firstIndex(where: { $0 === transfer }) else { return }
        remove(at: index)
        settle(now: now)
    }

    func socketReady(_ descriptor: Int32, readable: Bool, writable: Bool, failed: Bool, now: Instant) {
        let events = [(readable, CURL_CSELECT_IN), (writable, CURL_CSELECT_OUT), (failed, CURL_CSELECT_ERR)]
        act(on: descriptor, events: events.filter(\.0).map(\.1).reduce(0, |), now: now)
    }

    func timePassed(now: Instant) {
        guard let at = dueAt, at <= now else { return }
        dueAt = nil
        act(on: CURL_SOCKET_TIMEOUT, mayTimeOut: true, now: now)
    }

    func close() {
        while !transfers.isEmpty { remove(at: transfers.count - 1) }
        multi = nil
        ledger.forgetSockets()
        ledger.deliver(to: interest)
        dueAt = nil
    }

    private func act(on descriptor: Int32, events: Int32 = 0, mayTimeOut: Bool = false, now: Instant) {
        guard let raw = unsafe multi?.raw else { return }
        // The ledger is read before libcurl closes the connections: a transfer that times out may have waited for one
        // of them.
        let hasNeighbour = mayTimeOut && ledger.connections.contains(where: \.isEstablished)
        var running: Int32 = 0
        _ = unsafe curl_multi_socket_action(raw, descriptor, events, &running)
        var remaining: Int32 = 0
        while let message = unsafe curl_multi_info_read(raw, &remaining) {
            guard unsafe message.pointee.msg == CURLMSG_DONE, let handle = unsafe message.pointee.easy_handle,
                let index = transfers.firstIndex(where: { unsafe $0.easy?.raw == handle })
            else { continue }
            let transfer = transfers[index]
            let failure =
                transfer.isOversized
                ? .oversized
                : transfer.easy?.failure(unsafe ccurl_message_result(message), hasNeighbour: hasNeighbour)
            ended.add(transfer, failure.map { .failure($0) } ?? transfer.reply(now: now))
            remove(at: index)
        }
        settle(now: now)
    }

    private func remove(at index: Int) {
        if let easy = transfers[index].easy { _ = unsafe curl_multi_remove_handle(multi?.raw, easy.raw) }
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
        while !transfers.isEmpty { remove(at: transfers.count - 1) }
        // The multi handle's callbacks write to the ledger, so it is freed first.
        multi = nil
    }
}

extension Transfer {
    fileprivate var easy: EasyHandle? {
        if case .libcurl(let easy) = carrier { easy } else { nil }
    }
}

extension EasyHandle {
    /// - Parameter transfer: receives the reply; must outlive the handle's use.
    fileprivate func deliver(to transfer: Transfer) throws(TransferFailure) {
        let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
        try check(unsafe ccurl_set_pointer(raw, CURLOPT_WRITEDATA, context))
        try check(unsafe ccurl_set_pointer(raw, CURLOPT_HEADERDATA, context))
        try check(
            unsafe ccurl_set_receiver(raw, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                unsafe EasyHandle.passing(bytes, size * count, context) { unsafe $0.received(body: $1) }
            })
        try check(
            unsafe ccurl_set_receiver(raw, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                unsafe EasyHandle.passing(bytes, size * count, context) {
                    unsafe $0.received(headerLine: $1.assumingMemoryBound(to: UInt8.self).span)
                }
            })
    }

    /// Returns the number of bytes taken; libcurl aborts the transfer if this is less than `count`.
    private static func passing(
        _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
        to receive: (Transfer, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
        guard let context = unsafe context, count > 0 else { return 0 }
        let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        return unsafe receive(transfer, UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
    }
}

/// Owns a multi handle. The ledger must outlive it, and all transfers must be removed before it is freed.
@safe private struct MultiHandle: ~Copyable {
    let raw: UnsafeMutableRawPointer

    init(ledger: SocketLedger) throws(TransferFailure) {
        guard let raw = unsafe curl_multi_init() else { throw .local("no memory for a connection pool") }
        unsafe self.raw = raw
        _ = unsafe ccurl_multi_set_long(raw, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX)
        _ = unsafe ccurl_multi_set_long(raw, CURLMOPT_MAX_HOST_CONNECTIONS, ParallelRequests.maxConnections)
        _ = unsafe ccurl_multi_set_long(raw, CURLMOPT_MAXCONNECTS, ParallelRequests.maxConnections)
        _ = unsafe ledger.watch(raw)
    }

    deinit {
        _ = unsafe curl_multi_cleanup(raw)
    }
}
