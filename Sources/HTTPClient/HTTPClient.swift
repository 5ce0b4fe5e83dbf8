// Carries requests to providers over libcurl's multi interface, on the caller's loop and thread. It never looks a name
// up, never makes a thread, never reads a clock, and never waits: the loop says which descriptor is ready and what
// time it is, and takes what finished after every call.

import CCurl

package final class HTTPClient {
    /// A transfer costs about 30 KiB while it runs, and a reply up to 64 KiB more: at most 24 MiB in the worst case, or
    /// twice as much while every request is sent once more.
    /// As many questions may be in flight upstream; more than that is a flood, and is answered as one.
    package static let maxTransfers = 256
    /// Twice what a generous configuration names. Beyond it a pool without connections is forgotten.
    package static let maxEndpoints = 64

    private let interest: ConnectionSet.Interest
    private var pools: [ConnectionPool] = []
    private var finished: [Finished] = []
    /// Of the requests that may be sent elsewhere as well.
    private var detours: [TransferID: Detour] = [:]
    private var setbacks: [Setback] = []
    private var lastID: UInt64 = 0

    package struct Finished {
        package let id: TransferID
        package let result: Result<TransferReply, TransferFailure>
        /// Where this came from: what the request named, or one of its `elsewhere`.
        package let endpoint: HTTPEndpoint
    }

    /// A place where a request was not heard of, and left for the next one.
    package struct Setback {
        package let id: TransferID
        package let endpoint: HTTPEndpoint
        /// `timeout`: it is silent.
        package let failure: TransferFailure
    }

    /// Once per process, before there is a second thread. The process must ignore SIGPIPE: OpenSSL writes to sockets
    /// without asking that none be sent.
    package static func prepareProcess() throws(TransferFailure) {
        let code = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        guard code == CURLE_OK else { throw .local(unsafe String(cString: curl_easy_strerror(code))) }
    }

    /// - Parameter interest: told which descriptors to watch, level-triggered, before a call into the client returns.
    ///   With `none` the descriptor may be closed already, or stand for a socket that is not watched: neither is an
    ///   error. Must not call the client.
    package init(interest: @escaping (_ descriptor: Int32, _ wants: SocketInterest) -> Void) {
        self.interest = interest
    }

    /// When `timePassed` has to be called at the latest. Changes with every call.
    package var nextDeadline: ContinuousClock.Instant? { pools.compactMap(\.deadline).min() }

    package var transfersInFlight: Int { pools.reduce(0) { $0 + $1.exchangeCount } }

    /// How many requests to the endpoint run at once without waiting for each other. Until a reply shows that it only
    /// speaks HTTP/1.1, TLS is taken for HTTP/2.
    package func parallelRequests(to endpoint: HTTPEndpoint) -> Int {
        let isHTTP1 = endpoint.scheme == .http || pools.contains { $0.endpoint == endpoint && $0.isHTTP1 }
        return isHTTP1 ? ConnectionSet.maxConnections : ConnectionSet.maxStreams
    }

    package var connections: ConnectionCounts { pools.reduce(ConnectionCounts()) { $0 + $1.connections } }

    package func connections(to endpoint: HTTPEndpoint) -> ConnectionCounts {
        pools.first { $0.endpoint == endpoint }?.connections ?? ConnectionCounts()
    }

    /// Every started transfer ends exactly once in `takeFinished`, unless it is cancelled. A request that cannot be
    /// started (`busy`, `badRequest`, `local`) ends there as well, at once.
    package func start(_ request: TransferRequest, now: ContinuousClock.Instant) -> TransferID {
        lastID += 1
        let id = TransferID(number: lastID)
        if !request.elsewhere.isEmpty { detours[id] = Detour(request, startedAt: now) }
        begin(request, id: id, now: now)
        return id
    }

    /// No result of the transfer is handed out after this. One that has ended already, or never was, is ignored.
    package func cancel(_ id: TransferID, now: ContinuousClock.Instant) {
        finished.removeAll { $0.id == id }
        detours[id] = nil
        for pool in pools { _ = pool.cancel(id, now: now) }
    }

    /// A descriptor that is not watched (any more) is ignored.
    package func socketReady(
        _ descriptor: Int32, readable: Bool, writable: Bool, failed: Bool, now: ContinuousClock.Instant
    ) {
        guard let pool = pools.first(where: { $0.isWatching(descriptor) }) else { return }
        pool.socketReady(descriptor, readable: readable, writable: writable, failed: failed, now: now)
        collect(from: pool, now: now)
    }

    package func timePassed(now: ContinuousClock.Instant) {
        for pool in pools {
            guard let deadline = pool.deadline, deadline <= now else { continue }
            pool.timePassed(now: now)
            collect(from: pool, now: now)
        }
    }

    /// After a change of the network: every connection is closed, and every running transfer ends as `networkChanged`,
    /// since its connection may lead nowhere now. The counters stay.
    package func renewConnections(now: ContinuousClock.Instant) {
        for pool in pools {
            pool.renew()
            collect(from: pool, now: now)
        }
    }

    package var hasFinished: Bool { !finished.isEmpty }

    /// To be drained after every call in.
    package func takeFinished() -> [Finished] {
        defer { finished.removeAll(keepingCapacity: true) }
        return finished
    }

    /// Since it was called last.
    package func takeSetbacks() -> [Setback] {
        defer { setbacks.removeAll() }
        return setbacks
    }

    // MARK: requests

    private func begin(_ request: TransferRequest, id: TransferID, now: ContinuousClock.Instant) {
        do throws(TransferFailure) {
            guard transfersInFlight < HTTPClient.maxTransfers else { throw .busy }
            let pool = try pool(for: request.endpoint)
            try pool.start(request, id: id, now: now)
            collect(from: pool, now: now)
        } catch {
            ended(id, .failure(error), at: request.endpoint, now: now)
        }
    }

    private func collect(from pool: ConnectionPool, now: ContinuousClock.Instant) {
        for id in pool.takeSilent() { goElsewhere(id, from: pool.endpoint, .timeout, now: now) }
        for (id, result) in pool.takeFinished() { ended(id, result, at: pool.endpoint, now: now) }
    }

    /// As far as there is a place to go to; it may end there at once.
    private func goElsewhere(
        _ id: TransferID, from endpoint: HTTPEndpoint, _ failure: TransferFailure, now: ContinuousClock.Instant
    ) {
        guard let next = detours[id]?.next(now: now) else { return }
        setbacks.append(Setback(id: id, endpoint: endpoint, failure: failure))
        begin(next, id: id, now: now)
    }

    private func ended(
        _ id: TransferID, _ result: Result<TransferReply, TransferFailure>, at endpoint: HTTPEndpoint,
        now: ContinuousClock.Instant
    ) {
        detours[id]?.ended()
        if case .failure(let failure) = result, detours[id] != nil {
            if failure.isAddress { goElsewhere(id, from: endpoint, failure, now: now) }
            // What goes on elsewhere will end there, or has ended by now.
            guard let left = detours[id], left.runningCount == 0 else { return }
        }
        finished.append(Finished(id: id, result: result, endpoint: endpoint))
        guard let detour = detours.removeValue(forKey: id), detour.runningCount > 0 else { return }
        for pool in pools { _ = pool.cancel(id, now: now) }
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
