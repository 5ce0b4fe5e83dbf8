// All requests and connections to one endpoint. New requests go to the current set of connections. A retired set closes
// with its last transfer. A pool without a set is dormant.

import Crypto
import DNSWire

/// A request without a reply; its connection has received nothing since the request was sent.
private struct StuckRequest {
    let subject: Name?
    let receivedBytes: UInt64
}

// A hanging connection retires the whole set: the others were opened over the same path. The authorities of TLS are
// freed after the endpoint's idle timeout.
final class ConnectionPool {
    /// The pool's news for its client.
    struct News {
        var finished: [HTTPClient.Finished] = []
        /// Requests to send to another endpoint as well, with the failure that is the reason.
        var silent: [(id: TransferID, failure: TransferFailure)] = []
        /// Requests that neither of two connections brought to the peer's kernel. They continue.
        var unacknowledged: [TransferID] = []

        fileprivate var isEmpty: Bool { finished.isEmpty && silent.isEmpty && unacknowledged.isEmpty }
    }

    let endpoint: HTTPEndpoint
    private let interest: InterestHandler
    private var current: ConnectionSet?
    /// Shared by the connections; nil while the pool is dormant.
    private var dialer: Dialer?
    /// The resumption of the last `dialer`.
    private var resumption = Resumption.nothing
    /// Retired sets; each still has a transfer.
    private var retired: [ConnectionSet] = []
    /// Number of sets retired so far.
    private var generation = 0
    private var exchanges: [Exchange] = []
    private let ended = EndedTransfers()
    /// Requests that `noteSending` has not seen sent as a whole.
    private var unsent: [Exchange] = []
    /// An instant at or before the times when the exchanges need `timePassed`; nil: there are none.
    private var exchangesDueAt: Instant?
    private var news = News()
    /// The stuck requests by the local port of the connection.
    private var stuck: [Int: StuckRequest] = [:]
    /// The time of the last connection that carried a request.
    private var usualAcknowledgement: Duration?
    private var repliedAt: Instant?
    /// Whether the last reply came over HTTP/1.1.
    private var isHTTP1 = false
    var parallelRequests: ParallelRequests
    private var reused = 0
    private var retried = 0
    /// Sockets opened by closed sets.
    private var openedBefore = 0
    /// When the idle connections are closed; set only while no request runs.
    private var dormantAt: Instant?

    init(endpoint: HTTPEndpoint, interest: @escaping InterestHandler) {
        self.endpoint = endpoint
        self.interest = interest
        parallelRequests = ParallelRequests(isOverTLS: endpoint.scheme == .https)
    }

    private var sets: [ConnectionSet] {
        guard let current else { return retired }
        return retired.isEmpty ? [current] : retired + [current]
    }

    var isDormant: Bool { current == nil && retired.isEmpty }

    var exchangeCount: Int { exchanges.count }

    var connections: ConnectionCounts {
        ConnectionCounts(
            open: sets.reduce(0) { $0 + $1.openSockets },
            opened: sets.reduce(openedBefore) { $0 + $1.openedSockets }, reused: reused,
            retried: retried)
    }

    var deadline: Instant? {
        var earliest = dormantAt
        // Read after every call, so without temporary arrays.
        if let current { earliest = Instant.earliest(earliest, current.dueAt) }
        for set in retired { earliest = Instant.earliest(earliest, set.dueAt) }
        return exchanges.isEmpty ? earliest : Instant.earliest(earliest, exchangesDueAt)
    }

    func isWatching(_ descriptor: Int32) -> Bool {
        current?.isWatching(descriptor) ?? false || retired.contains { $0.isWatching(descriptor) }
    }

    func start(_ request: TransferRequest, id: TransferID, now: Instant) throws(TransferFailure) {
        // `flush` sends the request.
        defer { settle(mayHaveSent: false, now: now) }
        let transfer = try send(request, id: id, now: now)
        let exchange = Exchange(
            transfer, request, startedAt: now, generation: generation, dialTimeout: usualAcknowledgement)
        exchanges.append(exchange)
        unsent.append(exchange)
        consider(exchange)
    }

    private func consider(_ exchange: Exchange) { exchangesDueAt = Instant.earliest(exchangesDueAt, exchange.dueAt) }

    /// - Returns: whether the server may have read the request.
    func cancel(_ id: TransferID, hasTimedOut: Bool, now: Instant) -> Bool {
        guard let index = exchanges.firstIndex(where: { $0.id == id }) else { return false }
        let exchange = exchanges[index]
        let isHanging = silentConnection(of: exchange) != nil || exchange.hasTransfer(where: \.isHeldBack)
        let mayHaveArrived = mayHaveArrived(exchange)
        if hasTimedOut, exchange.generation == generation, isHanging { retire() }
        remove(at: index, now: now)
        settle(now: now)
        return mayHaveArrived
    }

    func socketReady(_ descriptor: Int32, now: Instant) {
        let isCurrent = current?.isWatching(descriptor) ?? false
        let set = isCurrent ? current : retired.first { $0.isWatching(descriptor) }
        set?.socketReady(descriptor, now: now)
        settle(now: now)
    }

    /// Sends the requests that were started since the last call.
    func flush(now: Instant) {
        guard current?.hasQueued ?? false || retired.contains(where: \.hasQueued) else { return }
        for set in retired { set.flush(now: now) }
        current?.flush(now: now)
        settle(now: now)
    }

    func timePassed(now: Instant) {
        for set in sets { set.timePassed(now: now) }
        settle(now: now)
        if let at = exchangesDueAt, at <= now {
            for index in exchanges.indices { noteStall(at: index, now: now) }
            for index in exchanges.indices { noteUnacknowledged(at: index, now: now) }
            for index in exchanges.indices.reversed() { noteDeadPath(at: index, now: now) }
            settle(now: now)
            exchangesDueAt = nil
            for exchange in exchanges { consider(exchange) }
        }
        if let at = dormantAt, at <= now { closeAll() }
    }

    /// Ends every transfer and closes every connection.
    func renew() {
        for exchange in exchanges { finished(exchange, .failure(.networkChanged), mayHaveArrived(exchange)) }
        (exchanges, unsent, exchangesDueAt) = ([], [], nil)
        (usualAcknowledgement, repliedAt) = (nil, nil)
        closeAll()
        // A session would identify this client in both networks.
        resumption = .nothing
    }

    var hasNews: Bool { !news.isEmpty }

    /// Exchanges the news since the last call for an empty list, which keeps its memory.
    func takeNews(into empty: inout News) { swap(&news, &empty) }

    // MARK: exchanges

    private func noteStall(at index: Int, now: Instant) {
        guard let at = exchanges[index].stallsAt, at <= now else { return }
        switch exchanges[index].stalls(now: now, isAcknowledged: isAcknowledged) {
        case .none: break
        case .silent(let failure): leaveConnection(at: index, failure, now: now)
        case .slow(let transfer):
            if silentConnection(of: transfer) != nil { set(of: transfer)?.ping(transfer, now: now) }
            noteStall(at: index, now: now)
        case .stuck: noteStuck(at: index, now: now)
        }
    }

    /// One slow name looks the same as a dead connection behind a live peer. A connection that receives nothing is dead
    /// if it does not answer PING, or if two requests with different subjects are stuck on it: HTTP/1.1 has no PING.
    private func noteStuck(at index: Int, now: Instant) {
        guard let (port, received) = silentConnection(of: exchanges[index]) else { return }
        let subject = exchanges[index].request.subject?()
        let isDead =
            exchanges[index].isPongDue(now: now)
            || stuck[port].map { $0.receivedBytes == received && $0.subject != subject } ?? false
        stuck = stuck.filter { port, _ in sets.contains { $0.hasConnection(from: port) } }
        stuck[port] = StuckRequest(subject: subject, receivedBytes: received)
        guard isDead else { return }
        for index in exchanges.indices where silentConnection(of: exchanges[index])?.port == port {
            leaveConnection(at: index, .timeout, now: now)
        }
    }

    /// Returns the connection of a stuck request if it has received nothing since the request was sent.
    private func silentConnection(of exchange: Exchange) -> (port: Int, received: UInt64)? {
        exchange.stuckTransfer.flatMap { silentConnection(of: $0) }
    }

    /// Returns the connection of a sent request if it has received nothing since the request was sent.
    private func silentConnection(of transfer: Transfer) -> (port: Int, received: UInt64)? {
        guard let sentAt = transfer.sentAt, let connection = transfer.connection,
            let received = connection.progress?.received, received == sentAt.received
        else { return nil }
        return (connection.localPort, received)
    }

    private func leaveConnection(at index: Int, _ failure: TransferFailure, now: Instant) {
        guard !exchanges[index].request.elsewhere.isEmpty else { return _ = retry(at: index, now: now) }
        exchanges[index].leave(failure)
        if exchanges[index].generation == generation { retire() }
        news.silent.append((exchanges[index].id, failure))
    }

    private func noteUnacknowledged(at index: Int, now: Instant) {
        // The retry may be in the middle of a handshake: an accepted connection is enough.
        let isSo = exchanges[index].isUnacknowledged(now: now) { transfer in
            isAcknowledged(transfer) || transfer.isRetry && current?.hasConnected ?? false
        }
        if isSo, !hasReplied(since: exchanges[index].startedAt) { news.unacknowledged.append(exchanges[index].id) }
    }

    /// Fails the exchange as `unacknowledged`, unless a reply since its start shows that the path works.
    private func noteDeadPath(at index: Int, now: Instant) {
        let isDead = exchanges[index].hasDeadPath(now: now, isAcknowledged: isAcknowledged)
        guard isDead, !hasReplied(since: exchanges[index].startedAt) else { return }
        finish(at: index, .failure(.unacknowledged), now: now)
    }

    private func hasReplied(since instant: Instant) -> Bool {
        repliedAt.map { $0 >= instant } ?? false
    }

    private func mayHaveArrived(_ exchange: Exchange) -> Bool {
        exchange.mayHaveArrived(isAcknowledged: isAcknowledged)
    }

    private func isAcknowledged(_ transfer: Transfer) -> Bool { set(of: transfer)?.isAcknowledged(transfer) ?? true }

    private func set(of transfer: Transfer) -> ConnectionSet? {
        if let current, current.number == transfer.setNumber { return current }
        return retired.first { $0.number == transfer.setNumber }
    }

    /// Runs after every public call: processes ended transfers and closes unused sets.
    private func settle(mayHaveSent: Bool = true, now: Instant) {
        if !ended.transfers.isEmpty { concludeEnded(now: now) }
        if mayHaveSent, !unsent.isEmpty {
            for exchange in unsent { noteSending(exchange, now: now) }
            unsent.removeAll { !$0.awaitsSending }
        }
        if !retired.isEmpty {
            for set in retired where set.isIdle { close(set) }
            retired.removeAll(where: \.isIdle)
        }
        let isIdle = exchanges.isEmpty && current != nil
        dormantAt = isIdle ? dormantAt ?? now.advanced(by: endpoint.idleTimeout) : nil
    }

    private func concludeEnded(now: Instant) {
        var next = 0
        // A retry may end at once.
        while next < ended.transfers.count {
            let (running, end) = (exchanges.count, ended.transfers.count)
            while next < end {
                conclude(ended.transfers[next], of: running, now: now)
                next += 1
            }
        }
        ended.clear()
    }

    private func noteSending(_ exchange: Exchange, now: Instant) {
        if let transfer = exchange.first { noteSending(transfer) }
        if let transfer = exchange.second { noteSending(transfer) }
        exchange.noteSending(now: now)
        consider(exchange)
    }

    private func noteSending(_ transfer: Transfer) {
        usualAcknowledgement = transfer.sentAt?.usualAcknowledgement ?? usualAcknowledgement
    }

    private func conclude(_ transfer: Transfer, of running: Int, now: Instant) {
        guard let result = transfer.result, let index = exchanges.firstIndex(where: { $0.id == transfer.id }) else {
            return
        }
        switch exchanges[index].ended(transfer, result) {
        case .wait: return
        case .retry: if !retry(at: index, now: now) { finish(at: index, result, of: running, now: now) }
        case .finish(let result): finish(at: index, result, of: running, now: now)
        }
    }

    private func finish(
        at index: Int, _ result: Result<TransferReply, TransferFailure>, of running: Int = 0, now: Instant
    ) {
        let mayHaveArrived = mayHaveArrived(exchanges[index])
        let exchange = remove(at: index, now: now)
        let result = isCrowded(exchange, result, of: running, now: now) ? .failure(.crowded) : result
        if case .success(let reply) = result {
            repliedAt = now
            isHTTP1 = reply.httpVersion == .http1
            parallelRequests.speaks(http1: isHTTP1)
            if reply.connectionWasReused { reused += 1 } else { parallelRequests.newConnectionWorks() }
        }
        finished(exchange, result, mayHaveArrived)
    }

    private func finished(
        _ exchange: Exchange, _ result: Result<TransferReply, TransferFailure>, _ mayHaveArrived: Bool
    ) {
        news.finished.append(
            HTTPClient.Finished(id: exchange.id, result: result, endpoint: endpoint, wasReached: mayHaveArrived))
    }

    /// Whether the server refused or closed a connection while others carry requests, so that the request may be sent
    /// over one of those. If the request needed a further connection, fewer requests run at once from now on.
    ///
    /// - Parameter running: requests in flight before this batch of results.
    private func isCrowded(
        _ exchange: Exchange, _ result: Result<TransferReply, TransferFailure>, of running: Int, now: Instant
    ) -> Bool {
        guard case .failure(let failure) = result, failure == .refused || failure == .reset else { return false }
        let open = sets.reduce(0) { $0 + $1.openSockets }
        let wasFurther = open <= running + 1
        if failure == .refused { return wasFurther && parallelRequests.refused(keeping: open, now: now) }
        // HTTP/2 has one connection for all requests.
        guard parallelRequests.speaksHTTP1, !exchanges.isEmpty, open > 0, let number = exchange.request.number else {
            return false
        }
        if wasFurther { parallelRequests.closed(number, keeping: open, now: now) }
        return true
    }

    /// Retries on a new set. The connections that were open when the request was first sent get no more requests;
    /// newer ones do.
    ///
    /// - Returns: false if the retry could not start and no transfer of the request runs.
    private func retry(at index: Int, now: Instant) -> Bool {
        let exchange = exchanges[index]
        if exchange.generation == generation { retire() }
        do throws(TransferFailure) {
            guard let request = exchange.retryRequest(now: now) else { throw .timeout }
            let waited = exchange.startedAt.duration(to: now)
            exchange.retried(with: try send(request, id: exchange.id, retryAfter: waited, now: now), now: now)
            retried += 1
            if !unsent.contains(where: { $0 === exchange }) { unsent.append(exchange) }
            consider(exchange)
        } catch {
            exchange.couldNotRetry(error)
        }
        return exchange.isRunning
    }

    /// Removes the exchange and cancels its transfers.
    @discardableResult
    private func remove(at index: Int, now: Instant) -> Exchange {
        let exchange = exchanges.remove(at: index)
        if !unsent.isEmpty { unsent.removeAll { $0 === exchange } }
        guard exchange.isRunning else { return exchange }
        for case let transfer? in [exchange.first, exchange.second] {
            for set in sets { set.cancel(transfer, now: now) }
        }
        return exchange
    }

    // MARK: sets

    private func send(
        _ request: TransferRequest, id: TransferID, retryAfter waited: Duration? = nil, now: Instant
    ) throws(TransferFailure) -> Transfer {
        let transfer = try Transfer(id: id, request: request, retryAfter: waited, now: now)
        let set = try currentSet()
        set.start(transfer, now: now)
        return transfer
    }

    private func currentSet() throws(TransferFailure) -> ConnectionSet {
        if let current { return current }
        let dialer = if let dialer { dialer } else { try Dialer(for: endpoint, resumption, interest: interest) }
        let speaksHTTP1 = endpoint.scheme == .http || isHTTP1
        let set = ConnectionSet(dialer, number: generation, speaksHTTP1: speaksHTTP1, ended)
        (self.dialer, current) = (dialer, set)
        return set
    }

    /// Stops using the current set; the next request opens new connections.
    private func retire() {
        if let current { retired.append(current) }
        current = nil
        generation += 1
    }

    private func close(_ set: ConnectionSet) {
        set.close()
        openedBefore += set.openedSockets
    }

    private func closeAll() {
        sets.forEach(close)
        retired = []
        current = nil
        dormantAt = nil
        parallelRequests.rest()
        // Frees the authorities and buffers.
        if let dialer { resumption = dialer.resumption }
        dialer = nil
    }
}
