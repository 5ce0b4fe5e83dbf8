// Carries out fetches from providers: the dialect encodes requests and decodes replies, the HTTP client transports
// them. Makes no resolver decisions.

package import DNSWire
package import HTTPClient
package import HTTPDNS
package import LinuxIO
package import Network
package import Resolver
import Settings

package final class ProviderFetches: TimedPart {
    package let timer = PartTimer()
    private let outbox: any UpstreamOutbox
    private let http: HTTPClient
    package private(set) var providers: [Provider] = []
    private var nextProviderID = 0
    package var reachability = Reachability()
    /// Fetches that wait to share a request.
    private var batches = FetchBatches() { didSet { timer.changed() } }
    /// Decides which requests run; one-off requests (`ownRequests`) are not included.
    package private(set) var queue = RequestQueue() { didSet { timer.changed() } }
    /// Requests by number. Free numbers are reused.
    private var requests: [Request?] = []
    private var freeNumbers: [RequestQueue.ID] = []
    private var requestOfFetch: [FetchID: RequestQueue.ID] = [:]
    private var requestOfTransfer: [TransferID: RequestQueue.ID] = [:]
    /// Questions in flight in requests with questions of other domains, with the number of such requests.
    private var questionsTogether: [Question: Int] = [:]
    /// True if a place became free since the last `takePlaces`.
    private var hasFreePlace = false
    private var unreported = FetchResults()
    /// Requests that belong to no fetch, with their completions.
    private var ownRequests: [TransferID: (Result<TransferReply, TransferFailure>) -> Void] = [:]
    /// Reported addresses of this machine, at most one for each provider.
    private var exits: [ReportedExit] = []

    /// Time without an acknowledgement. By then, the kernel has sent the request twice over the old connection and
    /// dialled once more.
    private static let unacknowledgedAfter: Duration = .milliseconds(500)

    typealias Request = PendingRequest

    /// Flushes that a request remembers one by one.
    private static let maxFlushed = 16

    init(loop: EventLoop, outbox: any UpstreamOutbox) {
        self.outbox = outbox
        http = HTTPClient(on: loop, timer)
    }

    package var nextDeadline: Instant? {
        let ofBatches = Instant.earliest(batches.nextDeadline, inPlace { $0.nextDeadline })
        return Instant.earliest(http.nextDeadline, ofBatches)
    }

    var hasFinished: Bool {
        unreported.isWaiting || http.hasFinished || hasFreePlace && queue.waitingCount > 0
    }

    /// Replaces the providers. Those with unchanged endpoints and secrets keep their state.
    package func setProviders(_ accounts: [ProviderAccount]) -> [ProviderTraits] {
        let old = providers
        providers = accounts.map { account in
            if let same = old.first(where: { $0.update(account) }) { return same }
            defer { nextProviderID += 1 }
            let new = Provider(id: ProviderID(nextProviderID), account, seed: SystemEntropy().next())
            new.setReach(reachability)
            return new
        }
        queue.keep(providers.map(\.id))
        return providers.map(\.traits)
    }

    /// Sets what is dialled from now on, and how; open connections stay.
    package func setReach(_ reach: NetworkReach, _ prefixes: [NAT64Prefix]) {
        reachability = Reachability(reach: reach, prefixes: prefixes)
        for provider in providers { provider.setReach(reachability) }
    }

    /// Providers without an address that a route or a NAT64 prefix reaches.
    var unreachable: Set<RankedID> { Set(providers.filter { !$0.isReachable }.map { .provider($0.id) }) }

    /// Starts a fetch. If the provider's requests can carry several questions, the fetch may wait shortly for others to
    /// join.
    ///
    /// - Parameter holder: the holder that the request's place counts for; nil for a background measurement.
    func start(
        _ id: FetchID, _ question: Question, _ provider: ProviderID, for holder: ShareHolder? = nil,
        _ cause: RequestCause = .measurement, now: Instant
    ) {
        let holder = holder ?? ShareHolder(question.name, nil)
        let asked = self.provider(provider)
        let pool = asked.map { self.pool(of: $0) } ?? provider
        // Asked again because a shared request is slow: alone, so that it does not delay the same questions once
        // more.
        let isAlone =
            inPlace { $0.isAskedAlone(holder.parent, at: pool, now: now) }
            || !questionsTogether.isEmpty && questionsTogether[question] != nil
        let fetch = FetchBatches.Fetch(
            id, question, startedAt: now, holder: holder, isAlone: isAlone, cause: cause,
            parameters: asked?.parameters.number(for: question.name) ?? 0)
        guard let dialect = asked?.dialect else { return fail([fetch], .unreachable) }
        // Checked here, because later it would fail the other questions of its batch.
        guard dialect.supports(question), question.dnssec.isEmpty || dialect.carriesDNSSEC else {
            return fail([fetch], .unsupported)
        }
        let capacity = FetchBatches.Capacity(names: dialect.maxNames, bothFamilies: dialect.asksBothFamilies)
        let batch = batches.add(fetch, to: provider, capacity, now: now)
        if let batch { send(batch, now: now) }
    }

    package func timePassed(now: Instant) {
        http.timePassed(now: now)
        while let batch = batches.popDue(now: now) { send(batch, now: now) }
        takePlaces(now: now)
    }

    /// Sends the requests of this turn; several share one write.
    func flush(now: Instant) { http.flush(now: now) }

    /// Reports what replies and places bring about for the resolver.
    func reportResults() {
        guard hasFinished else { return }
        let now = Clock.now()
        for attempt in http.takeAttemptFailures() {
            guard let id = requestOfTransfer[attempt.id], let request = requests[id], let flight = request.flight
            else { continue }
            let (failure, endpoint) = (attempt.failure, flight.endpoint(dialledAs: attempt.endpoint))
            failed(request, at: endpoint, FetchFailure(failure), failure.description, isAddress: true, now: now)
        }
        for transfer in http.takeUnacknowledged() {
            guard let id = requestOfTransfer[transfer], let provider = requests[id]?.provider else { continue }
            if !unreported.unacknowledged.contains(provider) { unreported.unacknowledged.append(provider) }
        }
        for ended in http.takeFinished() {
            if let id = requestOfTransfer[ended.id] {
                bill(requests[id], at: ended.reached)
                conclude(id, ended.result, dialled: ended.endpoint, now: now)
            } else if let finish = ownRequests.removeValue(forKey: ended.id) {
                finish(ended.result)
            }
        }
        takePlaces(now: now)
        unreported.report(to: outbox)
    }

    /// Sends a request that belongs to no fetch. `reportResults` calls `finish`, unless the request is cancelled.
    @discardableResult
    package func carry(
        _ request: HTTPRequest, to endpoint: HTTPEndpoint, timeout: Duration = Bounds.providerTimeout,
        isOnOwnConnection: Bool = false, now: Instant,
        _ finish: @escaping (Result<TransferReply, TransferFailure>) -> Void
    ) -> TransferID {
        let timeouts = RequestTimeouts(timeout)
        let transfer = http.start(
            TransferRequest(
                request, to: reachability.way(to: endpoint) ?? endpoint, timeout: timeouts.transfer,
                connectTimeout: timeouts.connect, needsOwnConnection: isOnOwnConnection,
                wantsCertificate: isOnOwnConnection), now: now)
        ownRequests[transfer] = finish
        return transfer
    }

    package func cancel(_ id: TransferID, now: Instant) {
        if ownRequests.removeValue(forKey: id) != nil { http.cancel(id, now: now) }
    }

    package func provider(_ id: ProviderID) -> Provider? { providers.first { $0.id == id } }

    /// Returns the provider's name; nil for an unknown provider.
    package func name(of id: ProviderID) -> String? { provider(id)?.name }

    /// Renews connections after a network change. Requests in flight fail unless they are abandoned first.
    func renewConnections(now: Instant) {
        http.renewConnections(now: now)
        for provider in providers { provider.resetAddresses() }
    }

    /// - Parameter id: nil for all.
    func reset(_ id: ProviderID?) {
        for provider in providers where id == nil || provider.id == id { provider.reset() }
    }

    /// Reports the last address that each provider reported for this machine since the last call.
    func reportExits() {
        guard !exits.isEmpty else { return }
        outbox.report(.exits(exits))
        exits.removeAll()
    }

    /// Answers to these questions that providers were asked for before are of no use.
    package func flushed(_ scope: QuestionScope) {
        for case let request? in requests where request.flight != nil && !request.flushed.contains(scope) {
            request.flushed.append(scope)
            if request.flushed.count > ProviderFetches.maxFlushed { request.flushed = [.everything] }
        }
    }

    // MARK: requests

    private func send(_ batch: FetchBatches.Batch, now: Instant) {
        send(batch.fetches, asking: batch.questions, to: batch.provider, now: now)
    }

    private func send(
        _ fetches: [FetchBatches.Fetch], asking questions: [Question], to id: ProviderID,
        after earlier: EarlierReplies = EarlierReplies(), now: Instant
    ) {
        guard let provider = provider(id) else { return fail(fetches, .unreachable) }
        let request = Request(fetches, asking: questions, of: id, after: earlier)
        let number = number(request)
        for fetch in fetches { requestOfFetch[fetch.id] = number }
        queue.add(
            number, to: pool(of: provider), for: fetches.map(\.holder), places: places(at: provider),
            until: now + Bounds.answerWithin - provider.usualLatency, now: now)
        takePlaces(now: now)
        if requests[number] === request, request.flight == nil { awaitPlace(request) }
    }

    /// Tells the resolver that the fetches of the request wait for a place.
    private func awaitPlace(_ request: Request, isOverdue: Bool = false) {
        request.isAwaited = true
        for fetch in request.fetches where requestOfFetch[fetch.id] != nil {
            unreported.places.append(.fetchWaits(fetch.id, isOverdue: isOverdue))
        }
    }

    private func number(_ request: Request) -> RequestQueue.ID {
        if let number = freeNumbers.popLast() {
            requests[number] = request
            return number
        }
        requests.append(request)
        return requests.count - 1
    }

    private func begin(_ id: RequestQueue.ID, now: Instant) {
        guard let request = requests[id] else { return }
        let (fetches, questions) = (request.fetches, request.questions)
        guard let provider = provider(request.provider),
            let (first, others, silence) = provider.chooseEndpoints(
                avoiding: request.earlier.failedEndpoints, now: now)
        else { return end(id, .other, with: .unreachable, now: now) }
        let message: HTTPRequest
        do throws(DialectError) {
            message = try provider.dialect.request(for: questions, in: context(of: provider, for: questions))
        } catch {
            return end(id, .other, with: FetchFailure(error), now: now)
        }
        if request.isAwaited {
            (request.isAwaited, request.countsFrom) = (false, now)
            for fetch in fetches where requestOfFetch[fetch.id] != nil {
                unreported.places.append(.fetchSent(fetch.id))
            }
        }
        provider.counts.requests += 1
        provider.counts.names += UInt64(questions.count)
        let timeouts = RequestTimeouts(provider.timeout)
        var outgoing = TransferRequest(
            message, to: first.dialled, timeout: timeouts.transfer, connectTimeout: timeouts.connect,
            needsOwnConnection: provider.distrustsConnections(now: now),
            stallTimeout: timeouts.stall, silenceTimeout: silence,
            deadPathTimeout: timeouts.deadPath - request.countsFrom.duration(to: now),
            unacknowledgedAfter: ProviderFetches.unacknowledgedAfter,
            subject: fetches[0].holder, elsewhere: others.map(\.dialled))
        outgoing.number = id
        let transfer = http.start(outgoing, now: now)
        request.flight = RequestFlight(
            transfer, provider.dialect, account: provider.billedName, clock: provider.clock, startedAt: now,
            first: first, others: others)
        requestOfTransfer[transfer] = id
        if request.isShared { for fetch in fetches { questionsTogether[fetch.question, default: 0] += 1 } }
    }

    /// Counts each question of a request to a billed account, for the cause of its fetch, once per server that may have
    /// read it. A question that no fetch asked for completes the families of the request's names, and counts for the
    /// cause of the first fetch.
    private func bill(_ request: Request?, at reached: [HTTPEndpoint]) {
        guard let request, let provider = request.flight?.account, !reached.isEmpty else { return }
        let causes = request.questions.flatMap { question in
            let fetch = request.fetches.first { $0.question == question } ?? request.fetches[0]
            return reached.map { _ in fetch.cause }
        }
        outbox.report(.provider(.billed(provider: provider, causes)))
    }

    private func fail(_ fetches: [FetchBatches.Fetch], _ failure: FetchFailure) {
        unreported.finished += fetches.map { ($0.id, .failure(failure)) }
    }

    // MARK: results

    private func conclude(
        _ id: RequestQueue.ID, _ result: Result<TransferReply, TransferFailure>, dialled: HTTPEndpoint, now: Instant
    ) {
        guard let request = requests[id], let flight = request.flight else { return }
        if case .failure(.crowded) = result, request.countClosedConnection() { return waitAgain(id, request, flight) }
        let remaining = release(id, result.end, now: now)
        let endpoint = flight.endpoint(dialledAs: dialled)
        switch result {
        case .failure(let failure):
            let isAddress = failure.isAddress
            failed(request, at: endpoint, FetchFailure(failure), failure.description, isAddress: isAddress, now: now)
            fail(remaining, FetchFailure(failure))
        case .success(let transfer):
            // Nil: new settings have removed it, but clients still wait for its reply.
            let provider = provider(request.provider)
            if let provider { setPlaces(of: provider, dialled, afterStatus: transfer.status, now: now) }
            let reply = HTTPReply(transfer)
            // Over TLS a redirect is the provider's own reply, and says nothing about the network.
            if flight.first.endpoint.scheme == .http, let host = reply.redirectHost {
                unreported.redirected.append(.redirected(host))
            }
            if let provider { noteExit(of: provider, in: reply, to: request, flight, now: now) }
            if let provider, provider.wantsNodes {
                provider.wantsNodes = false
                outbox.report(.provider(.nodes(provider.id, reply)))
            }
            let clockDiffers = provider.map { learnClock(from: reply, of: $0, flight) } ?? false
            var results = flight.dialect.answers(from: reply, to: request.questions)
            if results.first?.failure?.clockMayBeWrong == true, clockDiffers, !request.earlier.isRedated {
                return sendAgain(remaining, of: request, now: now) { $0.isRedated = true }
            }
            if !clockDiffers { results = results.map { $0.mapError(\.withoutClock) } }
            if let fault = nodeFault(in: results, of: request, at: endpoint) {
                failed(request, fault, of: transfer, at: endpoint, now: now)
                return sendAgain(remaining, of: request, now: now) { $0.failedEndpoints.append(endpoint) }
            }
            var outcomes = zip(request.questions, results).map { question, result in
                outcome(of: question, result, from: provider, now: now)
            }
            if let provider = providerOutOfOrder(after: results, to: request, at: endpoint, now: now) {
                outcomes = outcomes.map(provider.failureOfAllNames)
            }
            judge(request, flight, results, outcomes, of: transfer, at: endpoint, now: now)
            deliver(outcomes, of: request, to: remaining)
        }
    }

    private func noteExit(
        of provider: Provider, in reply: HTTPReply, to request: Request, _ flight: RequestFlight, now: Instant
    ) {
        guard let clients = request.questions.first?.clients,
            let address = provider.exit(in: reply, toClients: clients, now: now)
        else { return }
        exits.removeAll { $0.provider == provider.id }
        exits.append(ReportedExit(address: address, provider: provider.id, askedAt: flight.startedAt))
    }

    private func outcome(
        of question: Question, _ result: Result<Answer, DialectError>, from provider: Provider?, now: Instant
    ) -> FetchResult {
        guard let provider else { return FetchResult(result) }
        let isClockRight = provider.clock.isKnown(wallMilliseconds: Clock.wallMilliseconds())
        return provider.result(result, for: question.name, isClockRight: isClockRight, now: now)
    }

    private func sendAgain(
        _ fetches: [FetchBatches.Fetch], of request: Request, now: Instant, _ learn: (inout EarlierReplies) -> Void
    ) {
        var earlier = request.earlier
        learn(&earlier)
        send(fetches, asking: request.questions, to: request.provider, after: earlier, now: now)
    }

    /// Returns the error of a reply that was of no use to any question, if another endpoint is to be asked.
    private func nodeFault(
        in results: [Result<Answer, DialectError>], of request: Request, at endpoint: HTTPEndpoint
    ) -> DialectError? {
        guard results.allSatisfy({ $0.failure?.otherNodeMayAnswer == true }) else { return nil }
        let failedEndpoints = request.earlier.failedEndpoints + [endpoint]
        guard failedEndpoints.count < ProviderAddressChoice.maxAddressesPerRequest,
            let provider = provider(request.provider), !provider.isOutOfOrder,
            provider.hasEndpoint(otherThan: failedEndpoints)
        else { return nil }
        return results.first?.failure
    }

    /// Records that no endpoint had a usable reply to the request, if that is so.
    ///
    /// - Returns: the provider if it is out of order.
    private func providerOutOfOrder(
        after results: [Result<Answer, DialectError>], to request: Request, at endpoint: HTTPEndpoint, now: Instant
    ) -> Provider? {
        guard results.allSatisfy({ $0.failure?.otherNodeMayAnswer == true }), let question = request.questions.first,
            let provider = provider(request.provider)
        else { return nil }
        let failed = request.earlier.failedEndpoints + [endpoint]
        guard provider.gaveNoUsableReply(about: question.name, at: failed, now: now) else { return nil }
        for _ in failed { outbox.report(.provider(.addressFailed(request.provider, isWrongNode: false))) }
        return provider
    }

    private func deliver(_ outcomes: [FetchResult], of request: Request, to remaining: [FetchBatches.Fetch]) {
        let hasAnswers = outcomes.contains(where: \.isUseful)
        var isSolicited = request.questions.map { _ in false }
        for fetch in remaining {
            guard let index = request.questions.firstIndex(of: fetch.question), outcomes.indices.contains(index)
            else { continue }
            isSolicited[index] = true
            let outcome = outcomes[index]
            unreported.finished.append((fetch.id, hasAnswers ? outcome.amongAnswers : outcome))
        }
        for (index, outcome) in outcomes.enumerated() where !isSolicited[index] {
            let isFlushed = request.flushed.contains { $0.contains(request.questions[index]) }
            guard case .success(let answer) = outcome, !isFlushed else { continue }
            unreported.volunteered.append(.volunteered(request.questions[index], answer, request.provider))
        }
    }

    /// Returns true if the provider's clock differs from the one that dated the request.
    private func learnClock(from reply: HTTPReply, of provider: Provider, _ flight: RequestFlight) -> Bool {
        provider.clock.learn(from: reply, in: flight.dialect, wallMilliseconds: Clock.wallMilliseconds())
        return provider.clock.differs(from: flight.clock)
    }

    /// Updates the provider's state: a request counts as one failure at most, and any answered question shows that
    /// the provider is up.
    private func judge(
        _ request: Request, _ flight: RequestFlight, _ results: [Result<Answer, DialectError>],
        _ outcomes: [FetchResult],
        of reply: TransferReply, at endpoint: HTTPEndpoint, now: Instant
    ) {
        let errors = results.compactMap(\.failure)
        if let error = errors.first {
            if case .throttled(let seconds?) = error {
                unreported.throttled.append(.throttled(request.provider, for: .seconds(seconds)))
            }
            if !outcomes.contains(where: \.isReply) {
                return failed(request, error, of: reply, at: endpoint, now: now)
            }
            doubtConnections(of: request.provider, FetchFailure(error), reply, now: now)
            for error in errors { failedInPart(request, FetchFailure(error), error.description) }
        }
        // Time spent on another address before does not count against this one.
        let elapsed = endpoint == flight.first.endpoint ? flight.startedAt.duration(to: now) : reply.totalTime
        guard let provider = provider(request.provider) else { return }
        let failure = outcomes.contains(where: \.isUseful) ? nil : errors.first.map { FetchFailure($0) }
        provider.replied(failure, at: endpoint, after: elapsed, now: now)
        for failed in request.earlier.failedEndpoints {
            provider.contradicted(failed, now: now)
            outbox.report(.provider(.addressFailed(request.provider, isWrongNode: false)))
        }
    }

    /// Records a reply that was of no use.
    private func failed(
        _ request: Request, _ error: DialectError, of reply: TransferReply, at endpoint: HTTPEndpoint, now: Instant
    ) {
        doubtConnections(of: request.provider, FetchFailure(error), reply, now: now)
        let isAddress = error == .wrongNode
        failed(request, at: endpoint, FetchFailure(error), error.description, isAddress: isAddress, now: now)
    }

    /// A host that redirects may be an interceptor; this connection would lead to it as long as it stays open.
    private func doubtConnections(
        of provider: ProviderID, _ failure: FetchFailure, _ reply: TransferReply, now: Instant
    ) {
        guard failure == .garbage || failure == .redirected, reply.httpVersion == .http1 else { return }
        self.provider(provider)?.distrustConnections(now: now)
    }

    private func failed(
        _ request: Request, at endpoint: HTTPEndpoint, _ failure: FetchFailure, _ reason: String, isAddress: Bool,
        now: Instant
    ) {
        guard let provider = provider(request.provider) else { return }
        provider.failed(failure, reason, at: endpoint, isAddress: isAddress, now: now)
        if isAddress { outbox.report(.provider(.addressFailed(request.provider, isWrongNode: failure == .server))) }
        outbox.report(.requestFailed(provider: provider.name, reason: reason))
    }

    private func failedInPart(_ request: Request, _ failure: FetchFailure, _ reason: String) {
        guard let provider = provider(request.provider) else { return }
        provider.counts.failedInPart(failure)
        outbox.report(.requestFailed(provider: provider.name, reason: reason))
    }

    /// Abandons all requests in flight, which may have reached billed accounts. For the end of the process.
    package func stop(now: Instant) {
        for (transfer, id) in requestOfTransfer { bill(requests[id], at: http.cancel(transfer, now: now)) }
        requestOfTransfer = [:]
    }

    // MARK: places
    // A place is a concurrent request of a provider. `RequestQueue` decides who gets one.

    /// Abandons a fetch. Its request ends with the last fetch that wants it.
    func abandon(_ fetch: FetchID, now: Instant) {
        guard let id = requestOfFetch.removeValue(forKey: fetch), let request = requests[id] else {
            return batches.remove(fetch)
        }
        request.activeCount -= 1
        guard let flight = request.flight else {
            request.fetches.removeAll { $0.id == fetch }
            if request.activeCount == 0 { release(id, .other, now: now) }
            return
        }
        // The resolver abandons a fetch at its time-out; an earlier abandon means that another answer won.
        let timeout = provider(request.provider)?.timeout ?? Bounds.providerTimeout
        let isLate = request.countsFrom.duration(to: now) >= timeout
        guard request.activeCount == 0 else {
            if !isLate { overtaken(fetch, in: request, id) }
            return
        }
        bill(request, at: http.cancel(flight.transfer, hasTimedOut: isLate, now: now))
        release(id, isLate ? .timedOut : .other, now: now)
        if isLate {
            failed(request, at: flight.first.endpoint, .timeout, "time-out", isAddress: true, now: now)
        }
    }

    private func overtaken(_ fetch: FetchID, in request: Request, _ id: RequestQueue.ID) {
        guard let parent = request.fetches.first(where: { $0.id == fetch })?.holder.parent else { return }
        let isActive = request.fetches.contains { $0.holder.parent == parent && requestOfFetch[$0.id] != nil }
        if !isActive { queue.leave(id, parent) }
    }

    /// Returns the provider that the places belong to. Providers with an equal endpoint share its connections and
    /// places, which belong to the first of these providers.
    private func pool(of provider: Provider) -> ProviderID {
        let first = providers.first { other in
            other === provider || other.endpoints.contains(where: provider.endpoints.contains)
        }
        return first?.id ?? provider.id
    }

    /// Returns how many requests the provider's connections carry at once: now, and at most.
    private func places(at provider: Provider) -> (now: Int, most: Int) {
        var places = (now: 1, most: 1)
        for (endpoint, way) in zip(provider.endpoints, provider.ways) {
            let parallel = http.parallelRequests(to: way ?? endpoint)
            places = (max(places.now, parallel.now), max(places.most, parallel.most))
        }
        return places
    }

    /// Lets more requests run in parallel if some wait although the provider answers, and fewer if it asks for fewer.
    private func setPlaces(of provider: Provider, _ dialled: HTTPEndpoint, afterStatus status: Int, now: Instant) {
        let pool = pool(of: provider)
        if status == 429 || status == 503 {
            http.wantsFewer(of: dialled, now: now)
        } else if inPlace({ $0.wantsMore(at: pool) }) {
            http.wantsMore(of: dialled, now: now)
        }
        queue.set(places(at: provider), of: pool)
    }

    /// Lets a request wait for another place, because its connection was refused or closed.
    private func waitAgain(_ id: RequestQueue.ID, _ request: Request, _ flight: RequestFlight) {
        if let provider = provider(request.provider) { queue.set(places(at: provider), of: pool(of: provider)) }
        queue.suspend(id)
        hasFreePlace = true
        ground(request, flight)
        awaitPlace(request)
    }

    /// Reads the queue in place: a call on the property copies it, which retains all its tables.
    private func inPlace<Value>(_ read: (inout RequestQueue) -> Value) -> Value { read(&queue) }

    /// Starts and ends requests as `queue` decides.
    private func takePlaces(now: Instant) {
        hasFreePlace = false
        while let step = queue.next(now: now) {
            switch step {
            case .start(let id): begin(id, now: now)
            case .suspend(let id): suspend(id, now: now)
            case .displace(let id):
                guard let request = requests[id], let flight = request.flight else { continue }
                bill(request, at: http.cancel(flight.transfer, now: now))
                fail(remove(id), .overload)
            case .expire(let id): fail(remove(id), .overload)
            }
        }
    }

    /// Takes the place of a request, which waits for another one.
    private func suspend(_ id: RequestQueue.ID, now: Instant) {
        guard let request = requests[id], let flight = request.flight else { return }
        bill(request, at: http.cancel(flight.transfer, now: now))
        ground(request, flight)
        awaitPlace(request, isOverdue: true)
    }

    /// Ends the flight of a request.
    private func ground(_ request: Request, _ flight: RequestFlight) {
        request.flight = nil
        requestOfTransfer[flight.transfer] = nil
        if request.isShared { for fetch in request.fetches { noLongerTogether(fetch.question) } }
    }

    /// Removes the request and frees its place. `takePlaces` must follow before the loop sleeps.
    ///
    /// - Returns: the fetches that were not abandoned.
    @discardableResult
    private func release(_ id: RequestQueue.ID, _ end: RequestQueue.End, now: Instant) -> [FetchBatches.Fetch] {
        queue.end(id, end, now: now)
        hasFreePlace = true
        return remove(id)
    }

    /// Ends a request that cannot be sent.
    private func end(_ id: RequestQueue.ID, _ end: RequestQueue.End, with failure: FetchFailure, now: Instant) {
        fail(release(id, end, now: now), failure)
    }

    /// - Returns: the fetches that were not abandoned.
    private func remove(_ id: RequestQueue.ID) -> [FetchBatches.Fetch] {
        guard let request = requests[id] else { return [] }
        requests[id] = nil
        freeNumbers.append(id)
        if let flight = request.flight { ground(request, flight) }
        return request.fetches.filter { requestOfFetch.removeValue(forKey: $0.id) != nil }
    }

    private func noLongerTogether(_ question: Question) {
        let left = (questionsTogether[question] ?? 0) - 1
        questionsTogether[question] = left > 0 ? left : nil
    }

    /// Providers with an equal endpoint share its connections; they count for the first of these providers.
    func connections(of provider: Provider) -> ConnectionCounts {
        provider.endpoints.reduce(ConnectionCounts()) { counts, endpoint in
            guard providers.first(where: { $0.endpoints.contains(endpoint) }) === provider else { return counts }
            return counts + http.connections(to: reachability.way(to: endpoint) ?? endpoint)
        }
    }

    /// - Parameters:
    ///   - questions: the questions of one request, for one group of clients and with one set of parameters.
    ///   - clock: nil: the provider's.
    package func context(
        of provider: Provider, for questions: [Question] = [], datedBy clock: ServerClock? = nil
    ) -> DialectContext {
        let first = questions.first
        return DialectContext(
            unixMilliseconds: (clock ?? provider.clock).now(wallMilliseconds: Clock.wallMilliseconds()),
            nonce: ProviderFetches.nonce(), clientSubnet: provider.subnetSent(for: first?.clients ?? .all),
            parameters: provider.parameters[first.map { provider.parameters.number(for: $0.name) } ?? 0])
    }

    private static func nonce() -> [UInt8] {
        let entropy = SystemEntropy()
        return [entropy.next(), entropy.next()].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
    }
}
