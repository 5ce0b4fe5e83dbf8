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

    private var sets: [ConnectionSet] { retired + (current.map { [$0] } ?? []) }

    var isDormant: Bool { current == nil && retired.isEmpty }

    var transferCount: Int { sets.reduce(0) { $0 + $1.transfers.count } }

    var connections: ConnectionCounts {
        ConnectionCounts(
            open: sets.reduce(0) { $0 + $1.openSockets },
            opened: sets.reduce(openedBefore) { $0 + $1.openedSockets }, reused: reused)
    }

    var deadline: ContinuousClock.Instant? { (sets.map(\.dueAt) + [dormantAt]).compactMap { $0 }.min() }

    func isWatching(_ descriptor: Int32) -> Bool { sets.contains { $0.isWatching(descriptor) } }

    func start(_ request: TransferRequest, id: TransferID, now: ContinuousClock.Instant) throws(TransferFailure) {
        defer { settle(now: now) }
        if let cap = endpoint.maxRequestsPerConnection, let current, current.startedCount >= cap { retire() }
        let set = if let current { current } else { try ConnectionSet(interest: interest) }
        _ = try set.start(request, id: id, now: now)
        current = set
    }

    func cancel(_ id: TransferID, now: ContinuousClock.Instant) -> Bool {
        for set in sets {
            guard let transfer = set.transfers.first(where: { $0.id == id }) else { continue }
            set.cancel(transfer, now: now)
            settle(now: now)
            return true
        }
        return false
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
        if let at = dormantAt, at <= now { closeAll() }
    }

    /// Ends every transfer and closes every connection.
    func renew() {
        finished += sets.flatMap(\.transfers).map { ($0.id, .failure(.networkChanged)) }
        closeAll()
    }

    func takeFinished() -> [Finished] {
        defer { finished.removeAll(keepingCapacity: true) }
        return finished
    }

    /// After every call in: takes what ended, and gives up what is not needed any more.
    private func settle(now: ContinuousClock.Instant) {
        for (transfer, result) in sets.flatMap({ $0.takeEnded() }) {
            if case .success(let reply) = result, reply.connectionWasReused { reused += 1 }
            finished.append((transfer.id, result))
        }
        for set in retired where set.transfers.isEmpty { close(set) }
        retired.removeAll(where: \.transfers.isEmpty)
        let isIdle = current?.transfers.isEmpty == true && retired.isEmpty
        dormantAt = isIdle ? dormantAt ?? now.advanced(by: endpoint.idleTimeout) : nil
    }

    /// The next request opens connections anew.
    private func retire() {
        if let current { retired.append(current) }
        current = nil
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
