// Carries out fetches from providers: the dialect encodes requests and decodes replies, the HTTP client transports
// them. Makes no resolver decisions.

import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Network
import PublicSuffix
import Resolver
import Settings

final class ProviderFetches: LoopPart {
    private let loop: EventLoop
    let http: HTTPClient
    private(set) var providers: [Provider] = []
    private var nextProviderID = 0
    var reachability = Reachability()
    /// Fetches that wait to share a request.
    private var batches = FetchBatches()
    /// Decides which requests run; one-off requests (`ownRequests`) are not included.
    private(set) var shares = RequestShares()
    private var nextRequest: RequestShares.ID = 0
    /// Requests that wait for a free place.
    private var waiting: [RequestShares.ID: Waiting] = [:]
    private var requestOfFetch: [FetchID: RequestShares.ID] = [:]
    private var running: [TransferID: Running] = [:]
    private var transferOfRequest: [RequestShares.ID: TransferID] = [:]
    private var transferOfFetch: [FetchID: TransferID] = [:]
    /// Questions in flight in requests with questions of other domains, with the number of such requests.
    private var questionsTogether: [Question: Int] = [:]
    /// True if a place became free since the last `takePlaces`.
    private var hasFreePlace = false
    private var finished: [(id: FetchID, result: FetchResult)] = []
    /// Requests that belong to no fetch, with their completions.
    private var ownRequests: [TransferID: (Result<TransferReply, TransferFailure>) -> Void] = [:]
    private var addressFailures: [(provider: ProviderID, isWrongNode: Bool)] = []
    /// Events from replies: `redirected` is delivered before the results, the others after them.
    private var redirected: [Event] = []
    private var throttled: [Event] = []
    private var volunteered: [Event] = []
    /// Failed requests for the log; each is taken once.
    private var notable: [LogEvent] = []

    /// The resolver abandons a request earlier; these limits end requests that it missed.
    private static let timeout: Duration = .seconds(5)
    private static let connectTimeout: Duration = .seconds(2)
    /// If requests for two domains are stuck on a connection for this long, it counts as dead even if the peer's
    /// kernel still responds. Longer than a slow provider takes; a new connection then has half of the time
    /// that the resolver waits.
    private static let stallTimeout: Duration = .milliseconds(1500)
    /// Shorter than the time at which the resolver counts a slow name, but only slightly: a path with an interruption
    /// of two seconds is not dead, and a repeated SYN still brings the answer in time.
    private static let deadPathTimeout = Bounds.providerTimeout - .milliseconds(300)

    /// The kernel has by then sent the request twice over the old connection and dialled once more.
    private static let unacknowledgedAfter: Duration = .milliseconds(500)

    /// A request that waits for a place.
    private struct Waiting {
        let provider: ProviderID
        /// Fetches that are still wanted.
        var fetches: [FetchBatches.Fetch]
        let questions: [Question]
        let isRepeated: Bool
    }

    /// One request in flight, for one or more fetches.
    private struct Running {
        let id: RequestShares.ID
        let provider: ProviderID
        /// Kept here because new settings may remove the provider while its answer is in flight.
        let dialect: any Dialect
        /// Includes fetches that were abandoned meanwhile.
        let fetches: [FetchBatches.Fetch]
        /// Questions as sent: those of the fetches and possibly more.
        let questions: [Question]
        /// The clock that dated the request; another reply may have corrected the provider's clock meanwhile.
        let clock: ServerClock
        /// Sent a second time, dated by the provider's clock as the first reply showed it.
        let isRepeated: Bool
        /// Fetches that are still wanted: those with an entry in `transferOfFetch`.
        var wantedCount: Int
        let startedAt: Instant
        /// The first endpoint as configured, however it was reached.
        let endpoint: HTTPEndpoint
        let isShared: Bool
        /// Configured endpoint by dialled endpoint.
        let configured: [HTTPEndpoint: HTTPEndpoint]
    }

    init(loop: EventLoop) {
        self.loop = loop
        let watcher = DescriptorWatcher(loop)
        http = HTTPClient { descriptor, wants in watcher.update(descriptor, wants) }
        watcher.onReady = { [unowned self] descriptor, readiness in
            http.socketReady(
                descriptor, readable: readiness.contains(.readable), writable: readiness.contains(.writable),
                failed: readiness.contains(.failed) || readiness.contains(.hangUp), now: Clock.now())
        }
    }

    var nextDeadline: Instant? {
        let ofBatches = Instant.earliest(batches.nextDeadline, shares.nextDeadline(now: Clock.now()))
        return Instant.earliest(http.nextDeadline, ofBatches)
    }

    /// Requests in flight, and those that wait for a place.
    var requestCounts: (running: Int, waiting: Int) { (running.count, waiting.count) }
    var hasFinished: Bool { !finished.isEmpty || http.hasFinished || hasFreePlace && !waiting.isEmpty }

    /// Replaces the providers. Those with unchanged settings and secrets keep their state.
    func setProviders(_ accounts: [ProviderAccount]) -> [ProviderTraits] {
        let old = providers
        providers = accounts.compactMap { account in
            if let same = old.first(where: { $0.settings == account.settings && $0.secrets == account.secrets }) {
                return same
            }
            defer { nextProviderID += 1 }
            return Provider(id: ProviderID(nextProviderID), account, seed: SystemEntropy().next())
        }
        shares.keep(providers.map(\.id))
        return providers.map(\.traits)
    }

    /// Sets what is dialled from now on, and how; open connections stay.
    func setReach(_ reach: NetworkReach, _ prefixes: [NAT64Prefix]) {
        reachability = Reachability(reach: reach, prefixes: prefixes)
    }

    /// Providers without an address that a route or a NAT64 prefix reaches.
    var unreachable: Set<ProviderID> { Set(providers.filter { !$0.isReachable(by: reachability) }.map(\.id)) }

    /// Starts a fetch. If the provider's requests can carry several questions, it may wait shortly for others to
    /// join.
    ///
    /// - Parameter holder: the domain and the client of the question; nil for a background measurement.
    func start(
        _ id: FetchID, _ question: Question, _ provider: ProviderID, for holder: ShareHolder? = nil, now: Instant
    ) {
        let holder = holder ?? ShareHolder(question.name, nil)
        // Asked again because a shared request is slow: alone, so that it does not delay the same questions once
        // more.
        let isSlow = shares.isAskedAlone(holder.domain, now: now) || questionsTogether[question] != nil
        let fetch = FetchBatches.Fetch(id, question, startedAt: now, holder: holder, isSlow: isSlow)
        guard let dialect = index(of: provider).map({ providers[$0].dialect }) else {
            return fail([fetch], .unreachable)
        }
        // Checked here, because later it would fail the other questions of its batch.
        guard dialect.supports(question) else { return fail([fetch], .unsupported) }
        let capacity = FetchBatches.Capacity(names: dialect.maxNames, bothFamilies: dialect.asksBothFamilies)
        let batch = batches.add(fetch, to: provider, capacity, now: now)
        if let batch { send(batch, now: now) }
    }

    func timePassed(now: Instant) {
        http.timePassed(now: now)
        while let batch = batches.popDue(now: now) { send(batch, now: now) }
        takePlaces(now: now)
    }

    /// Sends the requests of this turn; several share one write.
    func flush(now: Instant) { http.flush(now: now) }

    /// Returns the events for the resolver.
    func takeEvents() -> [Event] {
        let now = Clock.now()
        for setback in http.takeAttemptFailures() {
            guard let request = running[setback.id] else { continue }
            let (failure, endpoint) = (setback.failure, request.configured[setback.endpoint] ?? setback.endpoint)
            failed(request, at: endpoint, FetchFailure(failure), failure.description, isAddress: true, now: now)
        }
        let silent = Set(http.takeUnacknowledged().compactMap { running[$0]?.provider })
        for ended in http.takeFinished() {
            if let request = release(ended.id, ended.result.end, now: now) {
                conclude(request, ended.result, at: request.configured[ended.endpoint] ?? ended.endpoint, now: now)
            } else if let finish = ownRequests.removeValue(forKey: ended.id) {
                finish(ended.result)
            }
        }
        takePlaces(now: now)
        // Failures first: an answer in the same reply is the latest information about the provider.
        let inOrder = finished.filter { !$0.result.isReply } + finished.filter(\.result.isReply)
        defer {
            finished.removeAll(keepingCapacity: true)
            redirected.removeAll(keepingCapacity: true)
            throttled.removeAll(keepingCapacity: true)
            volunteered.removeAll(keepingCapacity: true)
        }
        let unacknowledged = silent.map { Event.unacknowledged($0) }
        return redirected + unacknowledged + throttled + inOrder.map { .fetchFinished($0.id, $0.result) } + volunteered
    }

    /// Sends a request that belongs to no fetch. `takeEvents` calls `finish`, unless the request is cancelled.
    @discardableResult
    func carry(
        _ request: HTTPRequest, to endpoint: HTTPEndpoint, isOnOwnConnection: Bool = false, now: Instant,
        _ finish: @escaping (Result<TransferReply, TransferFailure>) -> Void
    ) -> TransferID {
        let transfer = http.start(
            TransferRequest(
                request, to: reachability.way(to: endpoint) ?? endpoint, timeout: ProviderFetches.timeout,
                connectTimeout: ProviderFetches.connectTimeout, needsOwnConnection: isOnOwnConnection,
                wantsCertificate: isOnOwnConnection), now: now)
        ownRequests[transfer] = finish
        return transfer
    }

    func cancel(_ id: TransferID, now: Instant) {
        if ownRequests.removeValue(forKey: id) != nil { http.cancel(id, now: now) }
    }

    func provider(_ id: ProviderID) -> Provider? { index(of: id).map { providers[$0] } }

    /// Nil for an unknown provider.
    func name(of id: ProviderID) -> String? { index(of: id).map { providers[$0].settings.name } }

    // Functions that run per request use the index: a copy of a provider retains its tables.
    private func index(of id: ProviderID) -> Int? { providers.indices.first { providers[$0].id == id } }

    func setNodes(_ list: ServiceNodes, of provider: ProviderID) {
        guard let index = index(of: provider) else { return }
        providers[index].setNodes(list)
    }

    /// Renews connections after a network change. Requests in flight fail unless they are abandoned first.
    func renewConnections(now: Instant) {
        http.renewConnections(now: now)
        resetAddresses(of: nil)
    }

    /// - Parameter provider: nil for all.
    func resetAddresses(of provider: ProviderID?) {
        for index in providers.indices where provider == nil || providers[index].id == provider {
            providers[index].resetAddresses()
        }
    }

    /// Returns addresses that were unreachable or the wrong node since the last call.
    func takeAddressFailures() -> [(provider: ProviderID, isWrongNode: Bool)] {
        defer { addressFailures.removeAll() }
        return addressFailures
    }

    func takeNotable() -> [LogEvent] {
        defer { notable = [] }
        return notable
    }

    // MARK: requests

    private func send(_ batch: FetchBatches.Batch, now: Instant) {
        send(batch.fetches, asking: batch.questions, to: batch.provider, isRepeated: false, now: now)
    }

    private func send(
        _ fetches: [FetchBatches.Fetch], asking questions: [Question], to provider: ProviderID, isRepeated: Bool,
        now: Instant
    ) {
        guard let index = index(of: provider) else {
            return fail(fetches, .unreachable)
        }
        let id = nextRequest
        nextRequest += 1
        waiting[id] = Waiting(provider: provider, fetches: fetches, questions: questions, isRepeated: isRepeated)
        for fetch in fetches { requestOfFetch[fetch.id] = id }
        shares.add(
            id, to: provider, for: fetches[0].holder ?? ShareHolder(questions[0].name, nil),
            others: Set(fetches.compactMap { $0.holder?.domain }),
            places: places(at: providers[index]), usualLatency: providers[index].usualLatency, now: now)
        takePlaces(now: now)
    }

    private func begin(_ id: RequestShares.ID, _ waiting: Waiting, now: Instant) {
        let (fetches, questions) = (waiting.fetches, waiting.questions)
        guard let index = index(of: waiting.provider) else {
            shares.end(id, .other, now: now)
            return fail(fetches, .unreachable)
        }
        let message: HTTPRequest
        do throws(DialectError) {
            message = try providers[index].dialect.request(
                for: questions, in: context(of: providers[index], questions[0].subnet))
        } catch {
            shares.end(id, .other, now: now)
            return fail(fetches, FetchFailure(error))
        }
        providers[index].requests += 1
        providers[index].names += UInt64(questions.count)
        let (endpoint, others, silence) = providers[index].chooseEndpoints(by: reachability, now: now)
        let ways = ([endpoint] + others).map { (reachability.way(to: $0) ?? $0, $0) }
        let transfer = http.start(
            TransferRequest(
                message, to: ways[0].0, timeout: ProviderFetches.timeout,
                connectTimeout: ProviderFetches.connectTimeout,
                needsOwnConnection: providers[index].distrustsConnections(now: now),
                stallTimeout: ProviderFetches.stallTimeout, silenceTimeout: silence,
                deadPathTimeout: ProviderFetches.deadPathTimeout - fetches[0].startedAt.duration(to: now),
                unacknowledgedAfter: ProviderFetches.unacknowledgedAfter,
                subject: fetches[0].holder?.domain,
                elsewhere: ways.dropFirst().map(\.0)), now: now)
        let request = Running(
            id: id, provider: waiting.provider, dialect: providers[index].dialect, fetches: fetches,
            questions: questions, clock: providers[index].clock, isRepeated: waiting.isRepeated,
            wantedCount: fetches.count, startedAt: now,
            endpoint: endpoint, isShared: Set(fetches.map(\.holder?.domain)).count > 1,
            configured: Dictionary(ways) { first, _ in first })
        note(request, as: transfer)
    }

    private func fail(_ fetches: [FetchBatches.Fetch], _ failure: FetchFailure) {
        finished += fetches.map { ($0.id, .failure(failure)) }
    }

    // MARK: results

    private func conclude(
        _ request: Running, _ result: Result<TransferReply, TransferFailure>, at endpoint: HTTPEndpoint, now: Instant
    ) {
        let wanted = request.fetches.filter { transferOfFetch.removeValue(forKey: $0.id) != nil }
        switch result {
        case .failure(let failure):
            let isAddress = failure.isAddress
            failed(request, at: endpoint, FetchFailure(failure), failure.description, isAddress: isAddress, now: now)
            fail(wanted, FetchFailure(failure))
        case .success(let transfer):
            let reply = HTTPReply(transfer)
            // Over TLS a redirect is the provider's own reply, and says nothing about the network.
            if request.endpoint.scheme == .http, let host = reply.redirectHost { redirected.append(.redirected(host)) }
            let isNews = learnClock(from: reply.headers["Date"], to: request)
            var results = request.dialect.answers(from: reply, to: request.questions)
            if results.first?.failure == .clock, isNews, !request.isRepeated {
                return send(wanted, asking: request.questions, to: request.provider, isRepeated: true, now: now)
            }
            if !isNews { results = results.map { $0.mapError(\.withoutClock) } }
            let outcomes = zip(request.questions, results).map { question, result in
                (question, outcome(of: question, result, from: request.provider, status: transfer.status, now: now))
            }
            judge(request, results, outcomes.map(\.1), of: transfer, at: endpoint, now: now)
            deliver(Dictionary(outcomes) { first, _ in first }, to: wanted, request.provider)
        }
    }

    private func outcome(
        of question: Question, _ result: Result<Answer, DialectError>, from provider: ProviderID, status: Int,
        now: Instant
    ) -> FetchResult {
        // New settings may have removed the provider; clients still wait for its reply.
        guard let index = index(of: provider) else { return FetchResult(result) }
        return providers[index].result(result, for: question.name.registrableDomain, status: status, now: now)
    }

    private func deliver(
        _ results: [Question: FetchResult], to wanted: [FetchBatches.Fetch], _ provider: ProviderID
    ) {
        var unsolicited = results
        for fetch in wanted {
            guard let result = results[fetch.question] else { continue }
            unsolicited[fetch.question] = nil
            finished.append((fetch.id, result))
        }
        for case (let question, .success(let answer)) in unsolicited {
            volunteered.append(.volunteered(question, answer, provider))
        }
    }

    /// Returns true if the provider's clock differs from the one that dated the request.
    private func learnClock(from date: String?, to request: Running) -> Bool {
        guard let index = index(of: request.provider) else { return false }
        providers[index].clock.learn(date: date, wallMilliseconds: Clock.wallMilliseconds())
        return providers[index].clock.differs(from: request.clock)
    }

    /// Updates the provider's state: a request counts as one failure at most, and any answered question shows that
    /// the provider is up.
    private func judge(
        _ request: Running, _ results: [Result<Answer, DialectError>], _ outcomes: [FetchResult],
        of reply: TransferReply, at endpoint: HTTPEndpoint, now: Instant
    ) {
        let errors = results.compactMap(\.failure)
        if let error = errors.first {
            let failure = FetchFailure(error)
            // A host that redirects may be an interceptor; this connection would lead to it as long as it stays open.
            let isDoubtful = failure == .garbage || failure == .redirected
            if isDoubtful, reply.httpVersion == .http1 { distrustConnections(of: request.provider, now: now) }
            if case .throttled(let seconds?) = error {
                throttled.append(.throttled(request.provider, for: .seconds(seconds)))
            }
            if !outcomes.contains(where: \.isReply) {
                let isAddress = error == .wrongNode
                return failed(request, at: endpoint, failure, error.description, isAddress: isAddress, now: now)
            }
            for error in errors { failedInPart(request, FetchFailure(error), error.description) }
        }
        // Time spent on another address before does not count against this one.
        let elapsed = endpoint == request.endpoint ? request.startedAt.duration(to: now) : reply.totalTime
        guard let index = index(of: request.provider) else { return }
        providers[index].answered(at: endpoint, after: elapsed, now: now)
    }

    private func distrustConnections(of provider: ProviderID, now: Instant) {
        guard let index = index(of: provider) else { return }
        providers[index].distrustConnections(now: now)
    }

    private func failed(
        _ request: Running, at endpoint: HTTPEndpoint, _ failure: FetchFailure, _ reason: String, isAddress: Bool,
        now: Instant
    ) {
        guard let index = index(of: request.provider) else { return }
        providers[index].failed(failure, reason, at: endpoint, isAddress: isAddress, now: now)
        if isAddress { addressFailures.append((request.provider, failure == .server)) }
        notable.append(.requestFailed(provider: providers[index].name, reason: reason))
    }

    private func failedInPart(_ request: Running, _ failure: FetchFailure, _ reason: String) {
        guard let index = index(of: request.provider) else { return }
        providers[index].failedInPart(failure)
        notable.append(.requestFailed(provider: providers[index].name, reason: reason))
    }

    // MARK: places
    // A place is a concurrent request of a provider. `RequestShares` decides who gets one.

    /// Abandons a fetch. Its request ends with the last fetch that wants it.
    func abandon(_ id: FetchID, now: Instant) {
        guard let transfer = transferOfFetch.removeValue(forKey: id) else {
            batches.remove(id)
            leaveQueue(id, now: now)
            return
        }
        running[transfer]?.wantedCount -= 1
        guard let request = running[transfer] else { return }
        // The resolver abandons a fetch at its time-out; an earlier abandon means that another answer won.
        let isLate = request.fetches[0].startedAt.duration(to: now) >= Bounds.providerTimeout
        guard request.wantedCount == 0 else {
            if !isLate { overtaken(id, in: request) }
            return
        }
        http.cancel(transfer, hasTimedOut: isLate, now: now)
        release(transfer, isLate ? .timedOut : .other, now: now)
        if isLate {
            failed(request, at: request.endpoint, .timeout, "time-out", isAddress: true, now: now)
        }
    }

    private func overtaken(_ id: FetchID, in request: Running) {
        guard let domain = request.fetches.first(where: { $0.id == id })?.holder?.domain else { return }
        let isWanted = request.fetches.contains { $0.holder?.domain == domain && transferOfFetch[$0.id] != nil }
        if !isWanted { shares.leave(request.id, domain) }
    }

    /// Returns how many requests the provider's connections carry at once.
    private func places(at provider: Provider) -> Int {
        provider.endpoints.map { http.parallelRequests(to: reachability.way(to: $0) ?? $0) }.max() ?? 1
    }

    /// Starts and ends requests as `shares` decides.
    private func takePlaces(now: Instant) {
        hasFreePlace = false
        while let step = shares.next(now: now) {
            switch step {
            case .start(let id):
                guard let request = waiting.removeValue(forKey: id) else { continue }
                for fetch in request.fetches { requestOfFetch[fetch.id] = nil }
                begin(id, request, now: now)
            case .displace(let id):
                guard let transfer = transferOfRequest[id], let request = forget(transfer) else { continue }
                http.cancel(transfer, now: now)
                fail(request.fetches.filter { transferOfFetch.removeValue(forKey: $0.id) != nil }, .overload)
            case .expire(let id):
                guard let request = waiting.removeValue(forKey: id) else { continue }
                for fetch in request.fetches { requestOfFetch[fetch.id] = nil }
                fail(request.fetches, .overload)
            }
        }
    }

    private func leaveQueue(_ fetch: FetchID, now: Instant) {
        guard let id = requestOfFetch.removeValue(forKey: fetch) else { return }
        waiting[id]?.fetches.removeAll { $0.id == fetch }
        guard waiting[id]?.fetches.isEmpty == true else { return }
        waiting[id] = nil
        shares.end(id, .other, now: now)
    }

    /// Removes the request and frees its place. `takePlaces` must follow before the loop sleeps.
    @discardableResult
    private func release(_ transfer: TransferID, _ end: RequestShares.End, now: Instant) -> Running? {
        guard let request = forget(transfer) else { return nil }
        shares.end(request.id, end, now: now)
        hasFreePlace = true
        return request
    }

    /// Registers a request as in flight.
    private func note(_ request: Running, as transfer: TransferID) {
        running[transfer] = request
        transferOfRequest[request.id] = transfer
        for fetch in request.fetches {
            transferOfFetch[fetch.id] = transfer
            if request.isShared { questionsTogether[fetch.question, default: 0] += 1 }
        }
    }

    private func forget(_ transfer: TransferID) -> Running? {
        guard let request = running.removeValue(forKey: transfer) else { return nil }
        transferOfRequest[request.id] = nil
        guard request.isShared else { return request }
        for fetch in request.fetches {
            let left = (questionsTogether[fetch.question] ?? 0) - 1
            questionsTogether[fetch.question] = left > 0 ? left : nil
        }
        return request
    }

    func connections(of provider: Provider) -> ConnectionCounts {
        provider.endpoints.reduce(ConnectionCounts()) { $0 + http.connections(to: reachability.way(to: $1) ?? $1) }
    }

    func context(of provider: Provider, _ subnet: ClientSubnet = .none) -> DialectContext {
        DialectContext(
            unixMilliseconds: provider.clock.now(wallMilliseconds: Clock.wallMilliseconds()),
            nonce: ProviderFetches.nonce(), clientSubnet: provider.told(of: subnet))
    }

    private static func nonce() -> [UInt8] {
        let entropy = SystemEntropy()
        return [entropy.next(), entropy.next()].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
    }
}
