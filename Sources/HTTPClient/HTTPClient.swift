// Sends requests to providers on the caller's event loop and thread. It never resolves names, creates threads, reads a
// clock or blocks. The event loop passes ready descriptors and the time, and collects finished transfers after every
// call.

package import DNSWire
package import LinuxIO

package final class HTTPClient {
    /// Bound of the upstream queries in flight; further requests fail as `busy`. A reply has up to 80 KiB. The worst
    /// case is 80 MiB, or twice that while every request is retried.
    package static let maxTransfers = 1024
    /// Twice the number of endpoints of a large configuration. Above this number, a pool without connections is
    /// removed.
    package static let maxEndpoints = 64

    private let interest: InterestHandler
    private let timer: PartTimer
    private var pools: [ConnectionPool] = []
    private var finished: [Finished] = []
    /// Memory for the news of a pool.
    private var emptyNews = ConnectionPool.News()
    /// Requests that have other endpoints.
    private var retryPlans: [TransferID: RetryPlan] = [:]
    private var attemptFailures: [AttemptFailure] = []
    private var unacknowledged: [TransferID] = []
    private var lastID: UInt64 = 0

    package struct Finished {
        package let id: TransferID
        package let result: Result<TransferReply, TransferFailure>
        /// The endpoint of the result: the request's own, or one of its `elsewhere`.
        package let endpoint: HTTPEndpoint
        /// True if the server of `endpoint` may have read the request.
        fileprivate(set) var wasReached: Bool
        /// Other endpoints whose servers may have read the request.
        fileprivate(set) var alsoReached: [HTTPEndpoint] = []

        /// Endpoints whose servers may have read the request, each once.
        package var reached: [HTTPEndpoint] { wasReached ? alsoReached + [endpoint] : alsoReached }
    }

    /// An endpoint that did not answer, so the request moved to the next one.
    package struct AttemptFailure {
        package let id: TransferID
        package let endpoint: HTTPEndpoint
        /// `unacknowledged` or `timeout` if the endpoint is silent.
        package let failure: TransferFailure
    }

    /// - Parameters:
    ///   - interest: receives each descriptor to watch, level-triggered, before a call into the client returns. A
    ///     descriptor passed with `none` may be closed or unwatched already; neither is an error. Must not call the
    ///     client.
    ///   - timer: the owner's, told by each call after which `nextDeadline` may be another one.
    package init(
        interest: @escaping (_ descriptor: Int32, _ wants: SocketInterest) -> Void,
        timer: PartTimer = PartTimer()
    ) {
        (self.interest, self.timer) = (interest, timer)
    }

    /// The latest time for the next `timePassed` call.
    package var nextDeadline: Instant? {
        var earliest: Instant?
        for pool in pools { earliest = Instant.earliest(earliest, pool.deadline) }
        return earliest
    }

    package var transfersInFlight: Int { pools.reduce(0) { $0 + $1.exchangeCount } }

    /// Returns how many requests to the endpoint run in parallel: now, and at most. Assumes HTTP/2 for TLS until a
    /// reply shows HTTP/1.1.
    package func parallelRequests(to endpoint: HTTPEndpoint) -> (now: Int, most: Int) {
        guard let pool = pools.first(where: { $0.endpoint == endpoint }) else {
            return ParallelRequests(isOverTLS: endpoint.scheme == .https).range
        }
        return pool.parallelRequests.range
    }

    /// Allows more parallel requests: questions wait although the endpoint answers.
    package func wantsMore(of endpoint: HTTPEndpoint, now: Instant) {
        pools.first { $0.endpoint == endpoint }?.parallelRequests.grow(now: now)
    }

    /// Allows fewer parallel requests, as the endpoint has asked for.
    package func wantsFewer(of endpoint: HTTPEndpoint, now: Instant) {
        pools.first { $0.endpoint == endpoint }?.parallelRequests.shrink(now: now)
    }

    package var connections: ConnectionCounts { pools.reduce(ConnectionCounts()) { $0 + $1.connections } }

    package func connections(to endpoint: HTTPEndpoint) -> ConnectionCounts {
        pools.first { $0.endpoint == endpoint }?.connections ?? ConnectionCounts()
    }

    /// Starts a request. It ends exactly once in `takeFinished`, unless it is cancelled. A request that cannot start
    /// (`busy`, `badRequest`, `local`) ends there at once.
    package func start(_ request: TransferRequest, now: Instant) -> TransferID {
        timer.changed()
        lastID += 1
        let id = TransferID(number: lastID, owner: request.number)
        if !request.elsewhere.isEmpty { retryPlans[id] = RetryPlan(request, startedAt: now) }
        begin(request, id: id, now: now)
        return id
    }

    /// Cancels a transfer; its result is not delivered. Ignores an ended or unknown transfer.
    ///
    /// - Parameter hasTimedOut: true if the caller's timeout expired. In this case the connection gets no further
    ///   request if it has received nothing since, or has not sent the whole request.
    /// - Returns: the endpoints whose servers may have read the request.
    @discardableResult
    package func cancel(_ id: TransferID, hasTimedOut: Bool = false, now: Instant) -> [HTTPEndpoint] {
        timer.changed()
        let ended = finished.first { $0.id == id }
        finished.removeAll { $0.id == id }
        let reached = ended?.reached ?? retryPlans.removeValue(forKey: id)?.reached ?? []
        return reached + cancelAttempts(of: id, hasTimedOut: hasTimedOut, now: now)
    }

    private func cancelAttempts(of id: TransferID, hasTimedOut: Bool = false, now: Instant) -> [HTTPEndpoint] {
        pools.filter { $0.cancel(id, hasTimedOut: hasTimedOut, now: now) }.map(\.endpoint)
    }

    /// Handles a ready socket. Ignores a descriptor that is not watched.
    package func socketReady(_ descriptor: Int32, now: Instant) {
        timer.changed()
        guard let pool = pools.first(where: { $0.isWatching(descriptor) }) else { return }
        pool.socketReady(descriptor, now: now)
        collect(from: pool, now: now)
    }

    /// Sends the requests that were started since the last call; several share one write. `timePassed` does the same,
    /// one turn of the event loop later.
    package func flush(now: Instant) {
        timer.changed()
        for pool in pools {
            pool.flush(now: now)
            collect(from: pool, now: now)
        }
    }

    package func timePassed(now: Instant) {
        timer.changed()
        for pool in pools {
            guard let deadline = pool.deadline, deadline <= now else { continue }
            pool.timePassed(now: now)
            collect(from: pool, now: now)
        }
    }

    /// Closes every connection after a network change. Running transfers end as `networkChanged`; counters are kept.
    package func renewConnections(now: Instant) {
        timer.changed()
        for pool in pools {
            pool.renew()
            collect(from: pool, now: now)
        }
    }

    /// True if one of the three functions below returns something.
    package var hasFinished: Bool { !finished.isEmpty || !unacknowledged.isEmpty || !attemptFailures.isEmpty }

    /// Returns the finished transfers; call after every call into the client.
    package func takeFinished() -> [Finished] {
        var taken: [Finished] = []
        takeFinished(into: &taken)
        return taken
    }

    /// Exchanges the finished transfers for an empty array, which keeps its memory.
    package func takeFinished(into empty: inout [Finished]) { swap(&finished, &empty) }

    /// Returns the failed attempts since the last call.
    package func takeAttemptFailures() -> [AttemptFailure] {
        guard !attemptFailures.isEmpty else { return [] }
        defer { attemptFailures.removeAll() }
        return attemptFailures
    }

    /// Returns the requests since the last call that no peer kernel has acknowledged over two connections. They
    /// continue.
    package func takeUnacknowledged() -> [TransferID] {
        guard !unacknowledged.isEmpty else { return [] }
        defer { unacknowledged.removeAll() }
        return unacknowledged
    }

    // MARK: requests

    private func begin(_ request: TransferRequest, id: TransferID, now: Instant) {
        do throws(TransferFailure) {
            guard transfersInFlight < HTTPClient.maxTransfers else { throw .busy }
            let pool = try pool(for: request.endpoint)
            try pool.start(request, id: id, now: now)
            collect(from: pool, now: now)
        } catch {
            ended(
                Finished(id: id, result: .failure(error), endpoint: request.endpoint, wasReached: false), now: now)
        }
    }

    private func collect(from pool: ConnectionPool, now: Instant) {
        guard pool.hasNews else { return }
        // A request that goes elsewhere may bring news at once.
        var news = exchange(&emptyNews, with: ConnectionPool.News())
        pool.takeNews(into: &news)
        news.unacknowledged.drain { unacknowledged.append($0) }
        news.silent.drain { goElsewhere($0.id, from: pool.endpoint, $0.failure, now: now) }
        news.finished.drain { ended($0, now: now) }
        emptyNews = news
    }

    /// Starts the request at its next endpoint, if there is one. The request may end at once.
    private func goElsewhere(
        _ id: TransferID, from endpoint: HTTPEndpoint, _ failure: TransferFailure, now: Instant
    ) {
        guard let next = retryPlans[id]?.next(after: failure, now: now) else { return }
        attemptFailures.append(AttemptFailure(id: id, endpoint: endpoint, failure: failure))
        begin(next, id: id, now: now)
    }

    /// Passes the result of an attempt on, unless another attempt may bring a reply.
    private func ended(_ attempt: consuming Finished, now: Instant) {
        let id = attempt.id
        if !retryPlans.isEmpty, retryPlans[id] != nil {
            retryPlans[id]?.ended(at: attempt.endpoint, mayHaveArrived: attempt.wasReached)
            if case .failure(let failure) = attempt.result {
                if failure.isAddress { goElsewhere(id, from: attempt.endpoint, failure, now: now) }
                // An attempt at another endpoint still runs, or has already delivered the result.
                guard let left = retryPlans[id], left.runningCount == 0 else { return }
            }
            guard let plan = retryPlans.removeValue(forKey: id) else { return }
            (attempt.wasReached, attempt.alsoReached) = (false, plan.reached)
            if plan.runningCount > 0 { attempt.alsoReached += cancelAttempts(of: id, now: now) }
        }
        finished.append(attempt)
    }

    private func pool(for endpoint: HTTPEndpoint) throws(TransferFailure) -> ConnectionPool {
        if let pool = pools.first(where: { $0.endpoint == endpoint }) { return pool }
        if pools.count == HTTPClient.maxEndpoints {
            guard let index = pools.firstIndex(where: \.isDormant) else { throw .busy }
            pools.remove(at: index)
        }
        let pool = ConnectionPool(endpoint: endpoint, interest: interest)
        pools.append(pool)
        return pool
    }
}
