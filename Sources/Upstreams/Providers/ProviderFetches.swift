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
    private var requestOfFetch: [FetchID: Request] = [:]
    /// Questions in flight in requests with questions of other domains, with the number of such requests.
    private var questionsTogether: [Question: Int] = [:]
    /// True if a place became free since the last `takePlaces`.
    private var hasFreePlace = false
    private var unreported = FetchResults()
    /// Memory for the finished transfers.
    private var finished: [HTTPClient.Finished] = []
    /// Memory for the results of a reply.
    private var emptyOutcomes: [FetchResult] = []
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
        unreported.isWaiting || http.hasFinished || hasFreePlace && inPlace { $0.hasWaiting }
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
        for provider in old { provider.isInUse = providers.contains { $0 === provider } }
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
        guard let provider = self.provider(provider) else { return unreported.finished(id, .failure(.unreachable)) }
        // Checked here, because later it would fail the other questions of its batch.
        guard provider.dialect.supports(question), question.dnssec.isEmpty || provider.dialect.carriesDNSSEC else {
            return unreported.finished(id, .failure(.unsupported))
        }
        let holder = holder ?? ShareHolder(question.name, nil)
        // Asked again because a shared request is slow: alone, so that it does not delay the same questions once
        // more.
        let isAlone =
            inPlace { $0.isAskedAlone(holder.parent, at: pool(of: provider), now: now) }
            || !questionsTogether.isEmpty && questionsTogether[question] != nil
        let fetch = FetchBatches.Fetch(
            id, question, startedAt: now, holder: holder, isAlone: isAlone, cause: cause,
            parameters: provider.parameters.number(for: question.name))
        if let batch = batches.add(fetch, to: provider.id, provider.capacity, now: now) {
            send(batch.fetches, asking: batch.questions, to: provider, now: now)
        }
    }

    package func timePassed(now: Instant) {
        http.timePassed(now: now)
        while let batch = batches.popDue(now: now) {
            guard let provider = provider(batch.provider) else {
                fail(batch.fetches, .unreachable)
                continue
            }
            send(batch.fetches, asking: batch.questions, to: provider, now: now)
        }
        takePlaces(now: now)
    }

    /// Sends the requests of this turn; several share one write.
    func flush(now: Instant) { http.flush(now: now) }

    /// Reports what replies and places bring about for the resolver.
    func reportResults() {
        guard hasFinished else { return }
        let now = Clock.now()
        for attempt in http.takeAttemptFailures() {
            guard let request = request(of: attempt.id) else { continue }
            let (failure, endpoint) = (attempt.failure, request.endpoint(dialledAs: attempt.endpoint))
            failed(request, at: endpoint, FetchFailure(failure), failure.description, isAddress: true, now: now)
        }
        for transfer in http.takeUnacknowledged() {
            guard let provider = request(of: transfer)?.provider.id else { continue }
            if !unreported.unacknowledged.contains(provider) { unreported.unacknowledged.append(provider) }
        }
        http.takeFinished(into: &finished)
        finished.drain { ended in
            if let request = request(of: ended.id) {
                if request.account != nil { bill(request, at: ended.reached) }
                conclude(request, ended.result, dialled: ended.endpoint, now: now)
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

    package func provider(_ id: ProviderID) -> Provider? {
        for index in providers.indices where providers[index].id == id { return providers[index] }
        return nil
    }

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
        for case let request? in requests where request.transfer != nil && !request.flushed.contains(scope) {
            request.flushed.append(scope)
            if request.flushed.count > ProviderFetches.maxFlushed { request.flushed = [.everything] }
        }
    }

    // MARK: requests

    private func send(
        _ fetches: [FetchBatches.Fetch], asking questions: [Question], to provider: Provider,
        after earlier: EarlierReplies = EarlierReplies(), now: Instant
    ) {
        let number = freeNumbers.popLast() ?? requests.count
        let request = Request(number, fetches, asking: questions, of: provider, after: earlier)
        if number == requests.count { requests.append(request) } else { requests[number] = request }
        for index in fetches.indices { requestOfFetch[fetches[index].id] = request }
        let (pool, places) = (pool(of: provider), places(at: provider))
        let until = now + Bounds.answerWithin - provider.usualLatency
        if queue.start(number, request, at: pool, places: places, until: until, now: now) {
            return begin(request, now: now)
        }
        queue.add(number, request, to: pool, places: places, until: until, now: now)
        takePlaces(now: now)
        if requests[number] === request, request.transfer == nil { awaitPlace(request) }
    }

    /// Tells the resolver that the fetches of the request wait for a place.
    private func awaitPlace(_ request: Request, isOverdue: Bool = false) {
        request.isAwaited = true
        for fetch in request.fetches where requestOfFetch[fetch.id] != nil {
            unreported.places.append(.fetchWaits(fetch.id, isOverdue: isOverdue))
        }
    }

    /// Returns the request that a transfer carries; nil if it carries no fetch.
    private func request(of transfer: TransferID) -> Request? {
        guard let number = transfer.owner, requests.indices.contains(number) else { return nil }
        return requests[number].flatMap { $0.transfer == transfer ? $0 : nil }
    }

    private func begin(_ request: Request, now: Instant) {
        let provider = request.provider
        guard provider.isInUse,
            let (first, others, silence) = provider.chooseEndpoints(
                avoiding: request.earlier.failedEndpoints, now: now)
        else { return end(request, .other, with: .unreachable, now: now) }
        let message: HTTPRequest
        do throws(DialectError) {
            message = try provider.dialect.request(
                for: request.questions, in: context(of: provider, for: request.questions))
        } catch {
            return end(request, .other, with: FetchFailure(error), now: now)
        }
        if request.isAwaited {
            (request.isAwaited, request.countsFrom) = (false, now)
            for fetch in request.fetches where requestOfFetch[fetch.id] != nil {
                unreported.places.append(.fetchSent(fetch.id))
            }
        }
        provider.counts.requests += 1
        provider.counts.names += UInt64(request.questions.count)
        let timeouts = RequestTimeouts(provider.timeout)
        let outgoing = TransferRequest(
            message, to: first.dialled, timeout: timeouts.transfer, connectTimeout: timeouts.connect,
            needsOwnConnection: provider.distrustsConnections(now: now),
            stallTimeout: timeouts.stall, silenceTimeout: silence,
            deadPathTimeout: timeouts.deadPath - request.countsFrom.duration(to: now),
            unacknowledgedAfter: ProviderFetches.unacknowledgedAfter,
            subject: { [holder = request.holder] in holder.parent }, number: request.number,
            elsewhere: others.isEmpty ? [] : others.map(\.dialled))
        let transfer = http.start(outgoing, now: now)
        request.sent(transfer, first: first, others: others, now: now)
        if request.isShared { for fetch in request.fetches { questionsTogether[fetch.question, default: 0] += 1 } }
    }

    /// Counts each question of a request to a billed account, for the cause of its fetch, once per server that may have
    /// read it. A question that no fetch asked for completes the families of the request's names, and counts for the
    /// cause of the first fetch.
    private func bill(_ request: Request, at reached: [HTTPEndpoint]) {
        guard let provider = request.account, !reached.isEmpty else { return }
        let causes = request.questions.flatMap { question in
            let fetch = request.fetches.first { $0.question == question } ?? request.fetches[0]
            return reached.map { _ in fetch.cause }
        }
        outbox.report(.provider(.billed(provider: provider, causes)))
    }

    private func fail(_ fetches: [FetchBatches.Fetch], _ failure: FetchFailure) {
        for fetch in fetches { unreported.finished(fetch.id, .failure(failure)) }
    }

    // MARK: results

    private func conclude(
        _ request: Request, _ result: Result<TransferReply, TransferFailure>, dialled: HTTPEndpoint, now: Instant
    ) {
        if case .failure(.crowded) = result, request.countClosedConnection() { return waitAgain(request) }
        release(request, result.end, now: now)
        let endpoint = request.endpoint(dialledAs: dialled)
        switch result {
        case .failure(let failure):
            let isAddress = failure.isAddress
            failed(request, at: endpoint, FetchFailure(failure), failure.description, isAddress: isAddress, now: now)
            fail(takeFetches(of: request), FetchFailure(failure))
        case .success(let transfer):
            // Without a provider that new settings have removed; clients still wait for its reply.
            let provider = request.provider.isInUse ? request.provider : nil
            if let provider { setPlaces(of: provider, dialled, afterStatus: transfer.status, now: now) }
            let reply = HTTPReply(transfer)
            // Over TLS a redirect is the provider's own reply, and says nothing about the network.
            if request.first?.endpoint.scheme == .http, let host = reply.redirectHost {
                unreported.redirected.append(.redirected(host))
            }
            if let provider { noteExit(of: provider, in: reply, to: request, now: now) }
            if let provider, provider.wantsNodes {
                provider.wantsNodes = false
                outbox.report(.provider(.nodes(provider.id, reply)))
            }
            let clockDiffers = provider.map { learnClock(from: reply, of: $0, request) } ?? false
            var results = request.provider.dialect.answers(from: reply, to: request.questions)
            if results.first?.failure?.clockMayBeWrong == true, clockDiffers, !request.earlier.isRedated {
                return sendAgain(request, now: now) { $0.isRedated = true }
            }
            var errors = results.compactMap(\.failure)
            if !errors.isEmpty, !clockDiffers {
                errors = errors.map(\.withoutClock)
                results = results.map { $0.mapError(\.withoutClock) }
            }
            if let fault = nodeFault(in: errors, of: request, at: endpoint) {
                failed(request, fault, of: transfer, at: endpoint, now: now)
                return sendAgain(request, now: now) { $0.failedEndpoints.append(endpoint) }
            }
            var outcomes = outcomes(of: &results, from: provider, to: request, now: now)
            if let provider = providerOutOfOrder(after: errors, to: request, at: endpoint, now: now) {
                outcomes = outcomes.map(provider.failureOfAllNames)
            }
            judge(request, errors, outcomes, of: transfer, at: endpoint, now: now)
            deliver(&outcomes, of: request)
            outcomes.removeAll(keepingCapacity: true)
            emptyOutcomes = outcomes
        }
    }

    private func noteExit(
        of provider: Provider, in reply: HTTPReply, to request: Request, now: Instant
    ) {
        guard let clients = request.questions.first?.clients,
            let address = provider.exit(in: reply, toClients: clients, now: now)
        else { return }
        exits.removeAll { $0.provider == provider.id }
        exits.append(ReportedExit(address: address, provider: provider.id, askedAt: request.sentAt))
    }

    /// Moves the results out: a copy of one retains all the records of its answer.
    private func outcomes(
        of results: inout [Result<Answer, DialectError>], from provider: Provider?, to request: Request, now: Instant
    ) -> [FetchResult] {
        let isClockRight = provider?.clock.isKnown(wallMilliseconds: Clock.wallMilliseconds()) ?? false
        var outcomes = exchange(&emptyOutcomes, with: [])
        results.drain { result in
            let name = request.questions[outcomes.count].name
            outcomes.append(
                provider?.result(result, for: name, isClockRight: isClockRight, now: now) ?? FetchResult(result))
        }
        return outcomes
    }

    private func sendAgain(_ request: Request, now: Instant, _ learn: (inout EarlierReplies) -> Void) {
        var earlier = request.earlier
        learn(&earlier)
        let fetches = takeFetches(of: request)
        guard request.provider.isInUse else { return fail(fetches, .unreachable) }
        send(fetches, asking: request.questions, to: request.provider, after: earlier, now: now)
    }

    /// Returns the error of a reply that was of no use to any question, if another endpoint is to be asked.
    private func nodeFault(
        in errors: [DialectError], of request: Request, at endpoint: HTTPEndpoint
    ) -> DialectError? {
        guard let first = errors.first, areOfNode(errors, of: request) else { return nil }
        let failedEndpoints = request.earlier.failedEndpoints + [endpoint]
        guard failedEndpoints.count < ProviderAddressChoice.maxAddressesPerRequest,
            request.provider.isInUse, !request.provider.isOutOfOrder,
            request.provider.hasEndpoint(otherThan: failedEndpoints)
        else { return nil }
        return first
    }

    /// Whether no question has a result that another endpoint would give, too.
    private func areOfNode(_ errors: [DialectError], of request: Request) -> Bool {
        errors.count == request.questions.count && errors.allSatisfy(\.otherNodeMayAnswer)
    }

    /// Records that no endpoint had a usable reply to the request, if that is so.
    ///
    /// - Returns: the provider if it is out of order.
    private func providerOutOfOrder(
        after errors: [DialectError], to request: Request, at endpoint: HTTPEndpoint, now: Instant
    ) -> Provider? {
        guard areOfNode(errors, of: request), let question = request.questions.first,
            request.provider.isInUse
        else { return nil }
        let (provider, failed) = (request.provider, request.earlier.failedEndpoints + [endpoint])
        guard provider.gaveNoUsableReply(about: question.name, at: failed, now: now) else { return nil }
        for _ in failed { outbox.report(.provider(.addressFailed(request.provider.id, isWrongNode: false))) }
        return provider
    }

    /// Moves the result of an only question out: a copy retains all the records of its answer.
    private func deliver(_ outcomes: inout [FetchResult], of request: Request) {
        let hasAnswers = outcomes.contains(where: \.isUseful)
        var delivered: [Int] = []
        for place in request.fetches.indices {
            let id = request.fetches[place].id
            guard requestOfFetch.removeValue(forKey: id) != nil,
                let index = request.questions.firstIndex(of: request.fetches[place].question),
                outcomes.indices.contains(index)
            else { continue }
            if outcomes.count == 1 {
                let outcome = outcomes.removeLast()
                return unreported.finished(id, hasAnswers ? outcome.amongAnswers : outcome)
            }
            unreported.finished(id, hasAnswers ? outcomes[index].amongAnswers : outcomes[index])
            delivered.append(index)
        }
        for index in outcomes.indices where !delivered.contains(index) {
            let question = request.questions[index]
            let isFlushed = request.flushed.contains { $0.contains(question) }
            guard case .success(let answer) = outcomes[index], !isFlushed else { continue }
            unreported.volunteered.append(.volunteered(question, answer, request.provider.id))
        }
    }

    /// Returns true if the provider's clock differs from the one that dated the request.
    private func learnClock(from reply: HTTPReply, of provider: Provider, _ request: Request) -> Bool {
        provider.clock.learn(from: reply, in: provider.dialect, wallMilliseconds: Clock.wallMilliseconds())
        return provider.clock.differs(from: request.clock)
    }

    /// Updates the provider's state: a request counts as one failure at most, and any answered question shows that
    /// the provider is up.
    private func judge(
        _ request: Request, _ errors: [DialectError], _ outcomes: [FetchResult], of reply: TransferReply,
        at endpoint: HTTPEndpoint, now: Instant
    ) {
        if let group = reply.keyExchange { request.provider.keyExchange = group }
        if let error = errors.first {
            if case .throttled(let seconds?) = error {
                unreported.throttled.append(.throttled(request.provider.id, for: .seconds(seconds)))
            }
            if !outcomes.contains(where: \.isReply) {
                return failed(request, error, of: reply, at: endpoint, now: now)
            }
            doubtConnections(of: request.provider, FetchFailure(error), reply, now: now)
            for error in errors { failedInPart(request, FetchFailure(error), error.description) }
        }
        // Time spent on another address before does not count against this one.
        let elapsed = endpoint == request.first?.endpoint ? request.sentAt.duration(to: now) : reply.totalTime
        let provider = request.provider
        guard provider.isInUse else { return }
        let failure = outcomes.contains(where: \.isUseful) ? nil : errors.first.map { FetchFailure($0) }
        provider.replied(failure, at: endpoint, after: elapsed, now: now)
        for failed in request.earlier.failedEndpoints {
            provider.contradicted(failed, now: now)
            outbox.report(.provider(.addressFailed(request.provider.id, isWrongNode: false)))
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
        of provider: Provider, _ failure: FetchFailure, _ reply: TransferReply, now: Instant
    ) {
        guard failure == .garbage || failure == .redirected, reply.httpVersion == .http1 else { return }
        provider.distrustConnections(now: now)
    }

    private func failed(
        _ request: Request, at endpoint: HTTPEndpoint, _ failure: FetchFailure, _ reason: String, isAddress: Bool,
        now: Instant
    ) {
        let provider = request.provider
        guard provider.isInUse else { return }
        provider.failed(failure, reason, at: endpoint, isAddress: isAddress, now: now)
        if isAddress { outbox.report(.provider(.addressFailed(request.provider.id, isWrongNode: failure == .server))) }
        outbox.report(.requestFailed(provider: provider.name, reason: reason))
    }

    private func failedInPart(_ request: Request, _ failure: FetchFailure, _ reason: String) {
        let provider = request.provider
        guard provider.isInUse else { return }
        provider.counts.failedInPart(failure)
        outbox.report(.requestFailed(provider: provider.name, reason: reason))
    }

    /// Abandons all requests in flight, which may have reached billed accounts. For the end of the process.
    package func stop(now: Instant) {
        for case let request? in requests {
            if let transfer = request.transfer { bill(request, at: http.cancel(transfer, now: now)) }
        }
    }

    // MARK: places
    // A place is a concurrent request of a provider. `RequestQueue` decides who gets one.

    /// Abandons a fetch. Its request ends with the last fetch that wants it.
    func abandon(_ fetch: FetchID, now: Instant) {
        guard let request = requestOfFetch.removeValue(forKey: fetch) else { return batches.remove(fetch) }
        request.activeCount -= 1
        guard let transfer = request.transfer else {
            request.fetches.removeAll { $0.id == fetch }
            if request.activeCount == 0 { release(request, .other, now: now) }
            return
        }
        // The resolver abandons a fetch at its time-out; an earlier abandon means that another answer won.
        let timeout = request.provider.isInUse ? request.provider.timeout : Bounds.providerTimeout
        let isLate = request.countsFrom.duration(to: now) >= timeout
        guard request.activeCount == 0 else {
            if !isLate { overtaken(fetch, in: request) }
            return
        }
        bill(request, at: http.cancel(transfer, hasTimedOut: isLate, now: now))
        release(request, isLate ? .timedOut : .other, now: now)
        if isLate, let first = request.first {
            failed(request, at: first.endpoint, .timeout, "time-out", isAddress: true, now: now)
        }
    }

    private func overtaken(_ fetch: FetchID, in request: Request) {
        guard let parent = request.fetches.first(where: { $0.id == fetch })?.holder.parent else { return }
        let isActive = request.fetches.contains { $0.holder.parent == parent && requestOfFetch[$0.id] != nil }
        if !isActive { queue.leave(request.number, parent) }
    }

    /// Returns the provider that the places belong to. Providers with an equal endpoint share its connections and
    /// places, which belong to the first of these providers.
    private func pool(of provider: Provider) -> ProviderID {
        for other in providers {
            if other === provider || other.endpoints.contains(where: provider.endpoints.contains) { return other.id }
        }
        return provider.id
    }

    /// Returns how many requests the provider's connections carry at once: now, and at most.
    private func places(at provider: Provider) -> (now: Int, most: Int) {
        var places = (now: 1, most: 1)
        for index in provider.endpoints.indices {
            let parallel = http.parallelRequests(to: provider.ways[index] ?? provider.endpoints[index])
            places = (max(places.now, parallel.now), max(places.most, parallel.most))
        }
        return places
    }

    /// Lets more requests run in parallel if some wait although the provider answers, and fewer if it asks for fewer.
    private func setPlaces(of provider: Provider, _ dialled: HTTPEndpoint, afterStatus status: Int, now: Instant) {
        if status == 429 || status == 503 {
            http.wantsFewer(of: dialled, now: now)
        } else if inPlace({ $0.hasWaiting && $0.wantsMore(at: pool(of: provider)) }) {
            http.wantsMore(of: dialled, now: now)
        }
        if inPlace({ $0.hasWaiting }) { queue.set(places(at: provider), of: pool(of: provider)) }
    }

    /// Lets a request wait for another place, because its connection was refused or closed.
    private func waitAgain(_ request: Request) {
        if request.provider.isInUse { queue.set(places(at: request.provider), of: pool(of: request.provider)) }
        queue.suspend(request.number)
        hasFreePlace = true
        ground(request)
        awaitPlace(request)
    }

    /// Reads the queue in place: a call on the property copies it, which retains all its tables.
    private func inPlace<Value>(_ read: (inout RequestQueue) -> Value) -> Value { read(&queue) }

    /// Starts and ends requests as `queue` decides.
    private func takePlaces(now: Instant) {
        hasFreePlace = false
        while let step = queue.next(now: now) {
            switch step {
            case .start(let id): if let request = requests[id] { begin(request, now: now) }
            case .suspend(let id): if let request = requests[id] { suspend(request, now: now) }
            case .displace(let id):
                guard let request = requests[id], let transfer = request.transfer else { continue }
                bill(request, at: http.cancel(transfer, now: now))
                drop(request, .overload)
            case .expire(let id): if let request = requests[id] { drop(request, .overload) }
            }
        }
    }

    /// Takes the place of a request, which waits for another one.
    private func suspend(_ request: Request, now: Instant) {
        guard let transfer = request.transfer else { return }
        bill(request, at: http.cancel(transfer, now: now))
        ground(request)
        awaitPlace(request, isOverdue: true)
    }

    /// Records that no transfer carries the request any more.
    private func ground(_ request: Request) {
        guard request.transfer != nil else { return }
        request.ground()
        if request.isShared { for fetch in request.fetches { noLongerTogether(fetch.question) } }
    }

    /// Removes the request and frees its place. `takePlaces` must follow before the loop sleeps.
    private func release(_ request: Request, _ end: RequestQueue.End, now: Instant) {
        queue.end(request.number, end, now: now)
        hasFreePlace = true
        remove(request)
    }

    /// Ends a request that cannot be sent.
    private func end(_ request: Request, _ end: RequestQueue.End, with failure: FetchFailure, now: Instant) {
        release(request, end, now: now)
        fail(takeFetches(of: request), failure)
    }

    /// Ends a request that the queue has removed.
    private func drop(_ request: Request, _ failure: FetchFailure) {
        remove(request)
        fail(takeFetches(of: request), failure)
    }

    private func remove(_ request: Request) {
        requests[request.number] = nil
        freeNumbers.append(request.number)
        ground(request)
    }

    /// Returns the fetches of a removed request that were not abandoned. They belong to no request then.
    private func takeFetches(of request: Request) -> [FetchBatches.Fetch] {
        request.fetches.filter { requestOfFetch.removeValue(forKey: $0.id) != nil }
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
