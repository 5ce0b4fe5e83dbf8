// Main-thread loop of the slow path: collects events, passes them to the resolver, and carries out its actions. Queries
// that the fast path does not answer pass through here, one event at a time.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Telemetry
import Upstreams

final class ResolvingLoop: TimedPart {
    let timer = PartTimer()

    /// Questions that may wait for this thread: a burst of misses from every serving thread.
    static let mailboxCapacity = 4096

    let loop: EventLoop
    let outbox: Outbox
    let upstreams: Upstreams
    let probes: Probes
    let streams: StreamServer
    private let handovers: Handovers
    /// The store of answers; nil: they are in memory only.
    let store: StoreThread?
    let recorder: FlightRecorder
    let addressSets: AddressSets
    private(set) var answers: CachedAnswers
    private var fastPath: FastPath
    private(set) var resolver: Resolver
    var clients = Clients()
    var ownQuestions = OwnQuestions()
    private(set) var counted = AnswerCounts()
    private(set) var activity = UpstreamActivity()
    private var replies: ClientReplies
    /// A buffer for the actions of the next event.
    private var spareActions: [Action] = []
    var explanations = ExplanationLimit()

    init(
        loop: EventLoop, outbox: Outbox, upstreams: Upstreams, probes: Probes, streams: StreamServer,
        mailbox: Mailbox<Notice>, store: StoreThread?, answers: CachedAnswers, seed: UInt64,
        fastPath: consuming FastPath, recorder: FlightRecorder
    ) throws(SystemError) {
        (self.loop, self.outbox) = (loop, outbox)
        self.upstreams = upstreams
        self.probes = probes
        self.streams = streams
        replies = ClientReplies(streams)
        self.store = store
        self.answers = answers
        self.recorder = recorder
        addressSets = AddressSets(loop: loop, outbox: outbox)
        resolver = Resolver(seed: seed)
        self.fastPath = fastPath
        handovers = try Handovers(mailbox, loop)
    }

    /// Waiting clients, without those still in the mailbox.
    var clientsWaiting: Int { clients.count }

    /// The parts that have deadlines. The resolver's has its turn last: it takes what the others report.
    var timedParts: [any TimedPart] {
        upstreams.timedParts + [probes, streams] + (store.map { [$0] } ?? []) + [addressSets, self]
    }

    /// When the resolver is due.
    var nextDeadline: Instant? { resolver.nextDeadline }

    func timePassed(now: Instant) { handle(.timePassed, now: now) }

    /// Takes what clients and serving threads have brought. Questions that streams bring later wait for the next turn:
    /// a client that asks as fast as it is answered must not block the loop.
    func takeQuestions(now: Instant) {
        handovers.takeAll { take($0, now: now) }
        for notice in streams.takeNotices() { take(notice, now: now) }
    }

    /// Whether `reportResults` has something to report.
    var hasResults: Bool { upstreams.hasResults || probes.hasFinished }

    /// Reports the results of fetches and probes.
    func reportResults() {
        upstreams.reportResults()
        for (id, result) in probes.takeFinished() { outbox.put(.event(.probeFinished(id, result))) }
    }

    /// Takes an event of the outbox.
    func take(_ event: Event, now: Instant) {
        upstreams.heard(event)
        handle(event, now: now)
    }

    /// Sends the replies and requests that the events brought about.
    func send(now: Instant) {
        sendReplies()
        upstreams.send(now: now) { question, answer, provider in
            inPlace { $0.shareable(question, answer, from: provider) }
        }
    }

    /// Removes cache entries, stored entries and remembered failures, so that the next question goes upstream.
    ///
    /// - Returns: the number of cache entries removed.
    func flush(_ scope: QuestionScope, now: Instant) -> Int {
        upstreams.providers.flushed(scope)
        handle(.flushed(scope), now: now)
        return remove(scope, now: now)
    }

    /// Removes cache entries and stored entries.
    ///
    /// - Returns: the number of cache entries removed.
    func remove(_ scope: QuestionScope, now: Instant) -> Int {
        store?.forget(scope, now: now)
        return answers.remove(scope)
    }

    /// Sends the queued replies. To be called before the loop sleeps.
    func sendReplies() {
        counted.tally.add(.unsentReplies, UInt64(replies.flush()))
    }

    /// Reads the resolver in place: a call on the property copies the resolver, which retains all its tables.
    func inPlace<Value>(_ read: (inout Resolver) -> Value) -> Value { read(&resolver) }

    /// Passes an event to the resolver and carries out the actions that it returns.
    func handle(_ event: Event, now: Instant) {
        // An action may lead to another event before this one ends.
        var actions = exchange(&spareActions, with: [])
        recorder.note(event, now: now)
        timer.changed()
        resolver.handle(event, now: now, cache: &answers, actions: &actions)
        for index in actions.indices { perform(&actions[index], now: now) }
        actions.removeAll(keepingCapacity: true)
        spareActions = actions
    }

    /// - Parameter provider: nil for all.
    func reset(_ provider: ProviderID?, now: Instant) {
        upstreams.reset(provider)
        handle(.providerReset(provider), now: now)
    }

    /// - Parameter partitions: networks whose answers are a last resort, the latest first.
    func setOtherNetworks(_ partitions: [Partition]) { answers.otherNetworks = partitions }

    /// Reports the changes of provider state since the last call.
    func reportStateChanges(now: Instant) {
        let changes = resolver.takeStateChanges(now: now)
        guard !changes.isEmpty else { return }
        for change in changes {
            switch change.upstream {
            case .nameserver(let id):
                guard let server = upstreams.nameservers[id] else { continue }
                recorder.changed(server.name, to: change.to, now: now)
                if let event = LogEvent(change, of: server) { outbox.log(event) }
            case .provider(let id):
                guard let provider = upstreams.providers.provider(id) else { continue }
                recorder.changed(provider.name, to: change.to, now: now)
                if let event = LogEvent(change, of: provider) { outbox.log(event) }
            }
        }
        let inUse = upstreams.providers.providers.filter { !$0.isShadow }
        let failures = inUse.map { provider -> FetchFailure? in
            switch state(of: provider, now: now) {
            case .down, .blocked: provider.counts.lastFailure
            case .unresolved: .unreachable
            case .up, .throttled, .overBudget, .overQuota, .unmeasured: nil
            }
        }
        if let event = activity.outage.changed(
            to: failures, hasSystemResolver: !upstreams.system.servers.isEmpty, now: now)
        {
            outbox.log(event)
        }
    }

    // MARK: verified addresses

    /// The outbox gets the results.
    ///
    /// - Parameter isCached: an answer in the cache has the address.
    func probe(_ name: Name, _ address: Address, isCached: Bool, now: Instant) {
        handle(.probeRequested(name, address, isCached: isCached), now: now)
    }

    /// The probes of a name's addresses in the cache, which may come from the store.
    func cachedTargets(of name: Name) -> [ProbeTarget] {
        let entries = [RecordType.a, .aaaa].flatMap { answers.entries(of: Question(name, $0)) }
        return inPlace { $0.probeTargets(of: name, entries.flatMap(\.answer.addresses)) }
    }

    // MARK: captive portal

    /// Reports the news, and removes cached answers for portal names: they would keep clients from the portal's page.
    private func heard(_ news: PortalEvent) {
        outbox.put(.portal(news))
        switch news {
        case .suspected: answers.remove { PortalNames().cover($0) }
        case .redirects(let host): answers.remove { $0.isWithin(host) }
        case .ended: break
        }
    }

    // MARK: questions

    private func take(_ notice: Notice, now: Instant) {
        switch notice {
        case .due(let question): handle(.prefetchDue(question), now: now)
        case .servedAgain(let question): handle(.servedAgain(question), now: now)
        case .asked(let handover):
            let client = client(of: handover, now: now)
            counted.questionsTaken += 1
            let isUncached = client.handover.hash.map { !answers.cache.mayHaveEntry($0) } ?? false
            guard isUncached || !answeredFromCache(client, now: now) else { return }
            asked(client, isUncached: isUncached, now: now)
        }
    }

    func group(of client: Address) -> ClientGroup { fastPath.group(of: client) }

    /// Returns the client, with its query without the bits that no upstream of its name carries: it gets the answer
    /// that clients without these bits share.
    private func client(of handover: Handover, now: Instant) -> Client {
        let (query, packet) = (handover.query, handover.packet)
        let group = fastPath.group(of: handover.client, hidesSubnet: query.hidesSubnet)
        let question = query.question(in: packet.span, from: group)
        guard !query.dnssec.isEmpty, inPlace({ $0.carriedBits(of: question, now: now) }).isEmpty else {
            return Client(handover: handover, question: question)
        }
        return Client(handover: handover.withoutDNSSEC, question: question.withoutDNSSEC)
    }

    /// Answers waiting clients from the cache after another partition came into use.
    func answerFromCache(now: Instant) {
        let answered = clients.all.filter { answeredFromCache($0.client, now: now) }.map(\.waiter)
        for waiter in answered { _ = clients.take(waiter) }
        if !answered.isEmpty { handle(.answeredFromCache(answered), now: now) }
    }

    /// Answers from the cache if an answer arrived while the question was in the mailbox; a fetch would be redundant.
    private func answeredFromCache(_ client: Client, now: Instant) -> Bool {
        let handover = client.handover
        var found: FastPath.Outcome?
        let isSent = replies.send(along: handover.path, limitBytes: client.query.replyLimitBytes, now: now) { output in
            // Reuses the parsed query; the query is not counted again.
            found = lookUp(handover.packet, from: client.address, client.query, now: now, into: &output)
        }
        let code: ResponseCode
        switch found {
        case .answered(let given), .answeredAndDue(let given, _), .answeredAwaited(let given, _): code = given
        case nil, .local, .refused, .limited, .dropped, .miss: return false
        }
        report(found, now: now)
        count(client, isSent: isSent, code, from: .cache, now: now)
        return true
    }

    /// Asks the fast path. The caller passes the outcome to `report`.
    ///
    /// - Parameter query: nil: the packet is not parsed yet, and may have a reply as long as over TCP.
    @_lifetime(output: copy output)
    func lookUp(
        _ packet: [UInt8], from client: Address, _ query: Query?, now: Instant,
        into output: inout OutputSpan<UInt8>
    ) -> FastPath.Outcome {
        let milliseconds = Clock.millisecondsSinceBoot(now)
        if let query {
            return fastPath.respond(
                to: query, in: packet.span, from: client, nowMilliseconds: milliseconds, into: &output)
        }
        return fastPath.respond(
            to: packet.span, from: client, over: .tcp, nowMilliseconds: milliseconds, into: &output)
    }

    /// Reports a due or awaited answer of the fast path to the resolver.
    func report(_ outcome: FastPath.Outcome?, now: Instant) {
        switch outcome {
        case .answeredAndDue(_, let question): handle(.prefetchDue(question), now: now)
        case .answeredAwaited(_, let question): handle(.servedAgain(question), now: now)
        case nil, .answered, .local, .refused, .limited, .dropped, .miss: break
        }
    }

    private func asked(_ client: Client, isUncached: Bool, now: Instant) {
        let question = client.question
        // The daemon's own check query came back: the system resolver forwards to this daemon. No client has asked.
        if upstreams.system.clientAsked(question, now: now) {
            replies.dismiss(client.handover.path, now: now)
            counted.returnedChecks[client.query.transport, default: 0] += 1
            return
        }
        if let why = WhyQuestion(question, key: explanations.key) { return explain(why, to: client, now: now) }
        guard let waiter = clients.add(client) else {
            fail(client, .notReady, now: now)
            return
        }
        if inPlace({ $0.aliases(of: question) }) != nil { return follow(question, for: waiter, client, now: now) }
        handle(
            .asked(question, waiter, isCacheOnly: !client.query.wantsRecursion, isUncached: isUncached), now: now)
    }

    // MARK: actions

    /// Carries out one action of the resolver. No other function does.
    ///
    /// - Parameter action: not changed. It is passed in place, because a copy counts the references of its parts.
    private func perform(_ action: inout Action, now: Instant) {
        switch action {
        case .fetch(let id, let question, let upstream, let purpose):
            begun(id, question, Source(upstream), isRefresh: purpose.isRefresh, now: now)
            activity.askedAt = now
            let awaitsFleet = upstreams.start(
                id, question, upstream, purpose, perSecond: inPlace { $0.demand(for: question, now: now) },
                replacing: purpose.isRefresh ? answers.life(of: question, now: now) : nil, now: now)
            if awaitsFleet { handle(.fetchAwaitsFleet(id), now: now) }
        case .shadow(let id, let question, let provider):
            begun(id, question, .provider(provider), isRefresh: true, now: now)
            upstreams.measure(id, question, provider, now: now)
        case .abandon(let id):
            recorder.abandoned(id, now: now)
            upstreams.abandon(id, now: now)
        case .store(let question, let answer, let source, let demand):
            recorder.stored(question, answer, from: source, named: upstreams.name(of: source), now: now)
            keep(question, answer, source, demand: demand, now: now)
        case .reply(let waiter, let answer, let source):
            guard let client = clients.take(waiter) else { return tell(waiter, .answer(answer, source)) }
            reply(client, answer, from: source, now: now)
        case .replyExpired(let waiter, let expired, let cause):
            guard let client = clients.take(waiter) else { return tell(waiter, .expired(expired, cause)) }
            reply(client, expired, cause, now: now)
        case .rearrange(let question, let answer, let source, let demand):
            rearrange(question, answer, source, demand: demand, now: now)
        case .awaitAsk(let question, let source):
            if let sourceClass = source.sourceClass { answers.awaitHit(question, sourceClass) }
        case .probe(let id, let target): probes.start(id, target, now: now)
        case .remove(let question):
            forgetStored(question, now: now)
            answers.remove(question)
        case .withdraw(let question, let source):
            forgetStored(question, now: now)
            if let sourceClass = source.sourceClass { answers.remove(question, sourceClass) }
        case .portal(let news): heard(news)
        case .doubt(let news): outbox.put(.log(.doubt(news) { upstreams.name(of: $0) }))
        case .probeNews(let news):
            if case .found(let target, let result) = news { recorder.probed(target, result, now: now) }
            outbox.put(.probe(news))
        case .forged(let evidence):
            diverged(evidence.question, evidence.mismatched.target.address, evidence.mismatched.source, now: now)
            outbox.put(.forged(evidence))
            upstreams.fleet.reportEvidence(evidence.question.name, evidence.mismatched.target.address, now: now)
        case .contradicted(let answer):
            diverged(answer.question, answer.addresses.first, answer.source, now: now)
            outbox.put(.contradicted(answer))
        case .fail(let waiter, let extendedError, let code):
            guard let client = clients.take(waiter) else { return tell(waiter, .failure(extendedError, code)) }
            fail(client, extendedError, code, now: now)
        }
    }

    private func begun(_ id: FetchID, _ question: Question, _ source: Source, isRefresh: Bool, now: Instant) {
        recorder.begun(id, question, at: source, named: upstreams.name(of: source), isRefresh: isRefresh, now: now)
    }

    private func diverged(_ question: Question, _ address: Address?, _ source: Source, now: Instant) {
        recorder.diverged(question, address, source, named: upstreams.name(of: source), now: now)
    }

    private func keep(_ question: Question, _ answer: Answer, _ source: Source, demand: Double, now: Instant) {
        guard let sourceClass = source.sourceClass else { return }
        activity.learnedAt = now
        answers.store(question, answer, sourceClass, now: now)
        addressSets.take(question, answer, isCached: true, now: now)
        writeToStore(
            question, answer, sourceClass, lifetimeSeconds: answer.ttlSeconds, demand: demand, ageMilliseconds: 0,
            now: now)
    }

    /// The store has no answers to questions with DO or CD, nor of a group of clients.
    private func forgetStored(_ question: Question, now: Instant) {
        guard question.dnssec.isEmpty, question.clients == .all else { return }
        store?.forget(QuestionScope(question.name, type: question.type), now: now)
    }

    private func rearrange(_ question: Question, _ answer: Answer, _ source: Source, demand: Double, now: Instant) {
        guard let sourceClass = source.sourceClass else { return }
        guard let kept = answers.rearrange(question, answer, sourceClass) else {
            // Also removed from the file, so that a removed answer does not return from there.
            forgetStored(question, now: now)
            return
        }
        addressSets.take(question, answer, storedAtMilliseconds: kept.storedAtMilliseconds, now: now)
        writeToStore(
            question, answer, sourceClass, lifetimeSeconds: kept.lifetimeSeconds, demand: demand,
            ageMilliseconds: Clock.millisecondsSinceBoot(now) - kept.storedAtMilliseconds, now: now)
    }

    private func writeToStore(
        _ question: Question, _ answer: Answer, _ sourceClass: SourceClass, lifetimeSeconds: UInt32, demand: Double,
        ageMilliseconds: Int64, now: Instant
    ) {
        guard let store else { return }
        let entry = answers.entry(
            question, answer, sourceClass, lifetimeSeconds: lifetimeSeconds, demand: demand,
            storedAtMilliseconds: Clock.wallMilliseconds() - ageMilliseconds)
        if let entry { store.keep(entry, now: now) }
    }

    func reply(_ client: Client, _ answer: Answer, from source: Source, now: Instant) {
        let rule = source == .local ? inPlace { $0.blockingRule(of: client.question) } : nil
        reply(client, answer, from: source.ofEvent, by: rule, now: now)
    }

    /// - Parameter rule: what blocked the name.
    func reply(
        _ client: Client, _ answer: Answer, from source: FlightEvent.Source, by rule: BlockingRule? = nil, now: Instant
    ) {
        addressSets.take(client.question, answer, isCached: false, now: now)
        let rendered = answers.rendered(answer, client.question)
        self.answer(client, answer.responseCode, answer.remark, from: source, by: rule, now: now) { output in
            client.write(rendered.answer, into: &output)
        }
    }

    func reply(_ client: Client, _ expired: ExpiredAnswer, _ cause: StaleCause, now: Instant) {
        let isSent = answer(
            client, expired.answer.responseCode, expired.extendedError, from: .stale, now: now
        ) { output in
            client.write(expired.answer, after: expired.extendedError, into: &output)
        }
        addressSets.take(client.question, expired.answer, now: now)
        if isSent { counted.answeredStale(because: cause) }
    }

    func fail(
        _ client: Client, _ extendedError: ExtendedError, _ code: ResponseCode = .serverFailure, now: Instant
    ) {
        let isRefused = code == .refused
        answer(
            client, code, extendedError, from: isRefused ? .refused : .failure,
            by: isRefused ? inPlace { $0.blockingRule(of: client.question) } : nil, now: now
        ) { output in
            client.write(code, extendedError, into: &output)
        }
    }

    /// Sends and counts the reply that `write` outputs. Returns false if the client of a stream has gone.
    ///
    /// - Parameter rule: what blocked the name; then that is the source.
    @discardableResult
    private func answer(
        _ client: Client, _ code: ResponseCode, _ extendedError: ExtendedError? = nil,
        from source: FlightEvent.Source, by rule: BlockingRule? = nil, now: Instant,
        _ write: (inout OutputSpan<UInt8>) -> Void
    ) -> Bool {
        let isSent = replies.send(
            along: client.handover.path, limitBytes: client.query.replyLimitBytes, now: now, write)
        return count(client, isSent: isSent, code, extendedError, from: source, by: rule, now: now)
    }

    /// Counts a reply of the slow path; the stream server counts its own replies. Returns `isSent`.
    @discardableResult
    private func count(
        _ client: Client, isSent: Bool, _ code: ResponseCode, _ extendedError: ExtendedError? = nil,
        from source: FlightEvent.Source, by rule: BlockingRule? = nil, now: Instant
    ) -> Bool {
        guard isSent else {
            recorder.dropped(client, "gone", now: now)
            counted.tally[.droppedGone] += 1
            return false
        }
        let source = rule == nil ? source : .blocked
        recorder.answered(client, code, extendedError, from: source, by: rule, now: now)
        counted.answered(code, from: source, by: rule, after: client.askedAt.duration(to: now))
        return true
    }

    /// Explanations are for loopback clients only, because they tell what this machine asks.
    private func explain(_ why: WhyQuestion, to client: Client, now: Instant) {
        guard client.address.isLoopback else {
            answer(client, .refused, .onlyHere, from: .refused, now: now) { output in
                client.write(.refused, .onlyHere, into: &output)
            }
            return
        }
        do throws(UnexplainedReason) {
            let text = try explained(why, to: client.question, now: now)
            answer(client, .noError, from: .local, now: now) { output in
                client.write(RenderedAnswer(text, to: client.question), into: &output)
            }
        } catch {
            fail(client, error.failure.0, error.failure.1, now: now)
        }
    }

    // MARK: network changes

    /// Moves to another network; results of running probes would concern the former one.
    func networkChanged(to network: NetworkID, now: Instant) {
        probes.abandonAll()
        // Failures while the routes were changing say nothing about this network.
        for provider in upstreams.providers.providers { provider.resetAddresses() }
        handle(.network(.changed(network)), now: now)
    }

    // MARK: end

    /// Answers waiting clients with SERVFAIL, so that they ask the next process at once and not after their time-out.
    func refuseWaiting(now: Instant) {
        takeQuestions(now: now)
        for (waiter, client) in clients.all where clients.take(waiter) != nil { fail(client, .notReady, now: now) }
        sendReplies()
    }

    // MARK: views

    /// Sum over all threads.
    func counts(with serving: Tally) -> Tally {
        var sum = serving
        sum += streams.tally
        sum += counted.tally
        return sum
    }

    /// Returns the number of open questions: in transit from a serving thread, or waiting.
    func questionsOpen(with serving: Tally) -> Int {
        Int(counts(with: serving)[.handedOver] - counted.questionsTaken) + clientsWaiting
    }

    func state(of provider: Provider, now: Instant) -> ProviderState {
        provider.endpoints.isEmpty ? .unresolved : resolver.state(of: .provider(provider.id), now: now) ?? .unmeasured
    }

    func state(of server: NamedServer, now: Instant) -> ProviderState {
        resolver.state(of: .nameserver(server.id), now: now) ?? .unmeasured
    }

    func hottest(atMost count: Int, now: Instant) -> [AskedQuestion] {
        resolver.hottest(atMost: count, hits: answers.hits, now: now)
    }

    /// Returns the name of the upstream that gave this entry; nil if that was forgotten or precedes this process.
    func source(of entry: CachedEntry) -> String? {
        entry.sourceAnswer(among: inPlace { $0.answers(to: entry.question) }).map { upstreams.name(of: $0.source) }
    }

    /// The latest questions that failed, the latest first, each with how the sources failed on it.
    var latestFailures: [(failed: FailedQuestion, causes: [SourceFailure])] {
        resolver.latestFailures.map { ($0, resolver.failures(on: $0.question)) }
    }

    /// Returns the explanation of the present answer to a question.
    func explanation(of question: Question, now: Instant) -> ExplainReport {
        let explanations = Explanations(
            resolver: resolver, answers: answers, serving: answers.serving, now: now, nameOfSource: upstreams.name(of:))
        var report = explanations.report(of: question)
        report.fleet = upstreams.fleet.origin(of: question, now: now)
        let (records, bootedAt) = (recorder.records, Clock.bootMicrosecondsSince1970())
        report.lately = records.latest(ExplainReport.maxLately, about: question.name).map { event in
            FlightEventReport(event, bootMicroseconds: bootedAt, showsClients: false) { records.words[$0] }.fact
        }
        if report.lately.isEmpty, records.scope == .off { report.lately = [ExplainReport.recorderIsOff] }
        return report
    }

    /// Returns the same explanation as separate lines.
    func sentences(about question: Question, now: Instant) -> [String] {
        explanation(of: question, now: now).sentences
    }

    /// Returns the running lookups, the oldest first.
    func inflight(now: Instant) -> InflightReport {
        let views = resolver.lookupViews
        var report = InflightReport(total: views.count)
        report.lookups = views.prefix(InflightReport.maxShown).map { view in
            InflightReport.Lookup(
                name: view.question.name.description, type: view.question.typeText,
                ageMilliseconds: view.startedAt.duration(to: now).wholeMilliseconds, waiters: view.waiters,
                isRefresh: view.isRefresh,
                fetches: view.running.map { fetch in
                    InflightReport.Fetch(
                        upstream: upstreams.name(of: Source(fetch.upstream)),
                        ageMilliseconds: fetch.at.duration(to: now).wholeMilliseconds)
                })
        }
        return report
    }
}
