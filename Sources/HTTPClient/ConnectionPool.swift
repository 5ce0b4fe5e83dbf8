// What runs to one endpoint. libcurl compares neither the name that is checked nor what its TLS callback did before it
// shares a connection; sets of connections per endpoint make sharing across identities impossible. A pool without
// connections is dormant and holds no set.

final class ConnectionPool {
    typealias Finished = (id: TransferID, result: Result<TransferReply, TransferFailure>)

    let endpoint: HTTPEndpoint
    private let interest: ConnectionSet.Interest
    private var current: ConnectionSet?
    private var finished: [Finished] = []
    private var reused = 0
    /// By sets that are gone.
    private var openedBefore = 0
    /// When the connections are given up; set while no transfer runs.
    private var dormantAt: ContinuousClock.Instant?

    init(endpoint: HTTPEndpoint, interest: @escaping ConnectionSet.Interest) {
        self.endpoint = endpoint
        self.interest = interest
    }

    var isDormant: Bool { current == nil }

    var transferCount: Int { current?.transfers.count ?? 0 }

    var connections: ConnectionCounts {
        ConnectionCounts(
            open: current?.openSockets ?? 0, opened: openedBefore + (current?.openedSockets ?? 0), reused: reused)
    }

    var deadline: ContinuousClock.Instant? { [current?.dueAt, dormantAt].compactMap { $0 }.min() }

    func isWatching(_ descriptor: Int32) -> Bool { current?.isWatching(descriptor) ?? false }

    func start(_ request: TransferRequest, id: TransferID, now: ContinuousClock.Instant) throws(TransferFailure) {
        let set = if let current { current } else { try ConnectionSet(interest: interest) }
        _ = try set.start(request, id: id, now: now)
        current = set
        settle(now: now)
    }

    func cancel(_ id: TransferID, now: ContinuousClock.Instant) -> Bool {
        guard let set = current, let transfer = set.transfers.first(where: { $0.id == id }) else { return false }
        set.cancel(transfer, now: now)
        settle(now: now)
        return true
    }

    func socketReady(
        _ descriptor: Int32, readable: Bool, writable: Bool, failed: Bool, now: ContinuousClock.Instant
    ) {
        current?.socketReady(descriptor, readable: readable, writable: writable, failed: failed, now: now)
        settle(now: now)
    }

    func timePassed(now: ContinuousClock.Instant) {
        current?.timePassed(now: now)
        settle(now: now)
        if let at = dormantAt, at <= now { closeConnections() }
    }

    /// Ends every transfer and closes every connection.
    func renew() {
        finished += (current?.transfers ?? []).map { ($0.id, .failure(.networkChanged)) }
        closeConnections()
    }

    func takeFinished() -> [Finished] {
        defer { finished.removeAll(keepingCapacity: true) }
        return finished
    }

    /// After every call in: takes what ended, and notes when the connections are given up.
    private func settle(now: ContinuousClock.Instant) {
        for (transfer, result) in current?.takeEnded() ?? [] {
            if case .success(let reply) = result, reply.connectionWasReused { reused += 1 }
            finished.append((transfer.id, result))
        }
        let isIdle = current?.transfers.isEmpty ?? false
        dormantAt = isIdle ? dormantAt ?? now.advanced(by: endpoint.idleTimeout) : nil
    }

    private func closeConnections() {
        if let set = current {
            set.close()
            openedBefore += set.openedSockets
        }
        current = nil
        dormantAt = nil
    }
}
