// What runs to one endpoint. libcurl compares neither the name that is checked nor what its TLS callback did before it
// shares a connection; sets of connections per endpoint make sharing across identities impossible. New requests go to
// the current set; a set that is retired closes with its last transfer. A pool without a set is dormant.

final class ConnectionPool {
    typealias Finished = (id: TransferID, result: Result<TransferReply, TransferFailure>)

    let endpoint: HTTPEndpoint
    private let interest: ConnectionSet.Interest
    private var current: ConnectionSet?
    /// Each with a transfer.
    private var retired: [ConnectionSet] = []
    /// How many sets were retired.
    private var generation = 0
    private var exchanges: [Exchange] = []
    private var finished: [Finished] = []
    /// Those that are to be sent elsewhere as well.
    private var silent: [TransferID] = []
    /// By the last reply.
    private(set) var isHTTP1 = false
    private var reused = 0
    private var retried = 0
    /// By sets that are gone.
    private var openedBefore = 0
    /// When the connections are given up; set while nothing runs.
    private var dormantAt: ContinuousClock.Instant?

    init(endpoint: HTTPEndpoint, interest: @escaping ConnectionSet.Interest) {
        self.endpoint = endpoint
        self.interest = interest
    }

    private var sets: [ConnectionSet] { retired + (current.map { [$0] } ?? []) }

    var isDormant: Bool { current == nil && retired.isEmpty }

    var exchangeCount: Int { exchanges.count }

    var connections: ConnectionCounts {
        ConnectionCounts(
            open: sets.reduce(0) { $0 + $1.openSockets },
            opened: sets.reduce(openedBefore) { $0 + $1.openedSockets }, reused: reused,
            retried: retried)
    }

    var deadline: ContinuousClock.Instant? {
        (sets.map(\.dueAt) + exchanges.map(\.stallsAt) + [dormantAt]).compactMap { $0 }.min()
    }

    func isWatching(_ descriptor: Int32) -> Bool { sets.contains { $0.isWatching(descriptor) } }

    func start(_ request: TransferRequest, id: TransferID, now: ContinuousClock.Instant) throws(TransferFailure) {
        defer { settle(now: now) }
        let transfer = try send(request, id: id, now: now)
        exchanges.append(Exchange(transfer, request, startedAt: now, generation: generation))
    }

    func cancel(_ id: TransferID, now: ContinuousClock.Instant) -> Bool {
        guard let index = exchanges.firstIndex(where: { $0.id == id }) else { return false }
        cancelTransfers(of: exchanges.remove(at: index), now: now)
        settle(now: now)
        return true
    }

    func socketReady(
        _ descriptor: Int32, readable: Bool, writable: Bool, failed: Bool, now: ContinuousClock.Instant
    ) {
        let set = sets.first { $0.isWatching(descriptor) }
        set?.socketReady(descriptor, readable: readable, writable: writable, failed: failed, now: now)
        settle(now: now)
    }

    func timePassed(now: ContinuousClock.Instant) {
        for set in sets { set.timePassed(now: now) }
        settle(now: now)
        for index in exchanges.indices { noteStall(at: index, now: now) }
        settle(now: now)
        if let at = dormantAt, at <= now { closeAll() }
    }

    /// Ends every transfer and closes every connection.
    func renew() {
        finished += exchanges.map { ($0.id, .failure(.networkChanged)) }
        exchanges = []
        closeAll()
    }

    func takeFinished() -> [Finished] {
        defer { finished.removeAll(keepingCapacity: true) }
        return finished
    }

    /// Of those that have somewhere else to go, and are not heard of here.
    func takeSilent() -> [TransferID] {
        defer { silent.removeAll(keepingCapacity: true) }
        return silent
    }

    // MARK: exchanges

    private func noteStall(at index: Int, now: ContinuousClock.Instant) {
        guard let at = exchanges[index].stallsAt, at <= now else { return }
        let sets = sets
        let stall = exchanges[index].stalls(now: now) { transfer in
            !sets.contains { $0.isUnacknowledged && $0.transfers.contains { $0 === transfer } }
        }
        switch stall {
        case .none: break
        case .here: _ = retry(at: index, now: now)
        case .elsewhere:
            if exchanges[index].generation == generation { retire() }
            silent.append(exchanges[index].id)
        }
    }

    /// After every call in: takes what ended, and gives up what is not needed any more.
    private func settle(now: ContinuousClock.Instant) {
        // What is sent once more may end at once.
        while case let ended = sets.flatMap({ $0.takeEnded() }), !ended.isEmpty {
            for (transfer, result) in ended { conclude(transfer, result, now: now) }
        }
        for index in exchanges.indices { exchanges[index].noteSending(now: now) }
        for set in retired where set.transfers.isEmpty { close(set) }
        retired.removeAll(where: \.transfers.isEmpty)
        let isIdle = exchanges.isEmpty && current != nil
        dormantAt = isIdle ? dormantAt ?? now.advanced(by: endpoint.idleTimeout) : nil
    }

    private func conclude(
        _ transfer: Transfer, _ result: Result<TransferReply, TransferFailure>, now: ContinuousClock.Instant
    ) {
        guard let index = exchanges.firstIndex(where: { $0.id == transfer.id }) else { return }
        switch exchanges[index].ended(transfer, result) {
        case .wait: return
        case .retry: if !retry(at: index, now: now) { finish(at: index, result, now: now) }
        case .finish(let result): finish(at: index, result, now: now)
        }
    }

    private func finish(
        at index: Int, _ result: Result<TransferReply, TransferFailure>, now: ContinuousClock.Instant
    ) {
        let exchange = exchanges.remove(at: index)
        cancelTransfers(of: exchange, now: now)
        if case .success(let reply) = result {
            isHTTP1 = reply.httpVersion == .http1
            if reply.connectionWasReused { reused += 1 }
        }
        finished.append((exchange.id, result))
    }

    /// The connections that were open when the request was first sent get no more requests: they share its fate. Those
    /// that were opened since do. False if the request could not be sent once more and nothing of it runs.
    private func retry(at index: Int, now: ContinuousClock.Instant) -> Bool {
        let exchange = exchanges[index]
        if exchange.generation == generation { retire() }
        do throws(TransferFailure) {
            guard let request = exchange.retryRequest(now: now) else { throw .timeout }
            let waited = exchange.startedAt.duration(to: now)
            exchanges[index].retried(with: try send(request, id: exchange.id, retryAfter: waited, now: now))
            retried += 1
        } catch {
            exchanges[index].couldNotRetry(error)
        }
        return !exchanges[index].transfers.isEmpty
    }

    private func cancelTransfers(of exchange: Exchange, now: ContinuousClock.Instant) {
        for transfer in exchange.transfers {
            for set in sets { set.cancel(transfer, now: now) }
        }
    }

    // MARK: sets

    private func send(
        _ request: TransferRequest, id: TransferID, retryAfter waited: Duration? = nil, now: ContinuousClock.Instant
    ) throws(TransferFailure) -> Transfer {
        if let cap = endpoint.maxRequestsPerConnection, let current, current.startedCount >= cap { retire() }
        let set = if let current { current } else { try ConnectionSet(interest: interest) }
        let transfer = try set.start(request, id: id, retryAfter: waited, now: now)
        current = set
        return transfer
    }

    /// The next request opens connections anew.
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
    }
}
