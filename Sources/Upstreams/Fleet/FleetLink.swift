// Carries out what `Membership` decides: calls to Redis, and what follows for the fetches of the resolver.

package import DNSWire
import Fleet
package import LinuxIO
import Redis
import Resolver
import Settings
import Telemetry

/// Without [fleet], the link does nothing.
package final class FleetLink: TimedPart {
    package let timer = PartTimer()

    let redis: RedisLink
    private let outbox: any UpstreamOutbox
    private var setup: FleetSetup?
    private var member: Membership
    /// The rules that answers have to satisfy, as in `Policy.acceptanceDigest`.
    private var rules: String?
    /// Requests by the numbers of their fetches.
    private var requests: [UInt64: FleetRequest] = [:] { didSet { timer.changed() } }
    /// Events since the last `share`.
    private var unshared: [Event] = []
    /// Fingerprint of `Settings.commonInFleet`, 8 hexadecimal digits.
    private(set) var fingerprint: String?
    let startedAt = Clock.now()
    private var callLatency = LatencyHistogram()
    /// The handlers for Redis's replies to orders to flush.
    private var ordered: [FlushOrder.ID: (String?) -> Void] = [:]
    private var nextOrder: FlushOrder.ID = 0

    init(loop: EventLoop, outbox: any UpstreamOutbox, seed: UInt64) {
        self.outbox = outbox
        redis = RedisLink(loop: loop, outbox: outbox, timer)
        member = Membership(token: String(seed, radix: 36))
    }

    package private(set) var isOn = false
    var settings: Settings.Fleet? { setup?.settings }
    var counts: SharedFetches.Counts { member.counts }
    var published: UInt64 { member.published }
    var unpublished: UInt64 { member.unpublished }
    var refusals: [Refusal: UInt64] { member.refusals }
    var size: Int { member.size }
    var host: String? { setup?.member }

    package func configure(_ setup: FleetSetup?, rules: String?, fingerprint: String?, now: Instant) {
        (self.rules, self.fingerprint) = (rules, fingerprint)
        guard setup != self.setup else { return }
        self.setup = setup
        isOn = setup != nil
        member.configure(setup?.terms, now: now)
        redis.configure(
            setup.map { setup in
                RedisLink.Account(
                    servers: setup.settings.servers.map(\.endpoint),
                    names: setup.settings.servers.map(\.description), user: setup.settings.user,
                    password: setup.password, scripts: FleetScript.allCases.map(\.text),
                    channels: member.channels, testKey: member.testKey, readTimeout: setup.settings.readTimeout)
            }, now: now)
        take(redis.takeNews(), now: now)
        carryOut(now: now)
    }

    // MARK: fetches

    /// Takes a fetch over if its answer may be shared, or its provider has a budget.
    ///
    /// - Parameters:
    ///   - life: lifetime of the cached answer that a refresh replaces; nil: there is none.
    ///   - perSecond: queries for the question on this machine; nil: not known.
    /// - Returns: false if the provider is to be asked at once.
    func begin(
        _ request: FleetRequest, at provider: Provider, replacing life: Duration?, perSecond: Double?, now: Instant
    ) -> Bool {
        guard isOn else { return false }
        var fetch = self.fetch(request.question, provider)
        fetch.isLastResort = request.purpose.isLastResort
        fetch.isForClient = !request.purpose.isRefresh
        (fetch.life, fetch.perSecond) = (life, perSecond)
        requests[request.id.number] = request
        guard member.begin(request.id.number, fetch, now: now) else {
            requests[request.id.number] = nil
            return false
        }
        carryOut(now: now)
        return true
    }

    /// Returns the fetch as the member sees it. Not shared are answers to clients with a view or subnet of their own,
    /// answers to questions with DO or CD, and answers of shadow providers.
    private func fetch(_ question: Question, _ provider: Provider) -> Membership.Fetch {
        var shared = SharedProvider(
            name: provider.name, identity: provider.identity(for: question.name), account: provider.accountIdentity)
        shared.clientSubnet = provider.subnetSent(for: .all)
        shared.usual95 = provider.counts.latency.percentile(95).map { .microseconds($0) }
        shared.timeout = provider.timeout
        shared.questionsPerSecond = provider.settings.budgetPerSecond
        var fetch = Membership.Fetch(question, at: shared)
        fetch.isShareable = question.clients == .all && question.dnssec.isEmpty && !provider.isShadow
        fetch.rules = rules
        return fetch
    }

    func abandon(_ id: FetchID) {
        guard requests.removeValue(forKey: id.number) != nil else { return }
        member.abandon(id.number)
    }

    /// Notes what may be of use for other members. It is shared after the replies: clients do not wait for members.
    func heard(_ event: Event) {
        if isBusy { unshared.append(event) }
    }

    /// Shares what providers have answered since the last call.
    ///
    /// - Parameter shareable: returns the answer as other members may have it; nil: each member asks the provider.
    func share(
        now: Instant, by providers: ProviderFetches, _ shareable: (Question, Answer, ProviderID) -> Answer?
    ) {
        guard !unshared.isEmpty else { return }
        let events = isBusy ? unshared : []
        unshared.removeAll()
        for event in events {
            if case .fetchFinished(let id, let result) = event,
                let request = requests.removeValue(forKey: id.number)
            {
                share(result, of: request, shareable, now: now)
            } else if case .volunteered(let question, let answer, let id) = event,
                let provider = providers.provider(id), let answer = shareable(question, answer, id)
            {
                let fetch = fetch(question, provider)
                if fetch.isShareable { member.volunteered(answer, fetch, now: now) }
            }
            carryOut(now: now)
        }
    }

    /// Publishes the answer to a fetch, or gives the lease back.
    private func share(
        _ result: FetchResult, of request: FleetRequest, _ shareable: (Question, Answer, ProviderID) -> Answer?,
        now: Instant
    ) {
        guard case .success(let answer) = result else { return member.failed(request.id.number) }
        if let answer = shareable(request.question, answer, request.provider) {
            member.answered(request.id.number, answer, now: now)
        } else {
            member.gotUnshareable(request.id.number)
        }
    }

    /// Gives back leases that have brought no answer.
    package func releaseLeases(now: Instant) {
        guard isBusy else { return }
        member.releaseLeases()
        carryOut(now: now)
    }

    /// Whether there is a fetch whose end counts, also one that began before [fleet] was removed.
    private var isBusy: Bool { isOn || !requests.isEmpty }

    /// Whether the resolver still waits for the fetch.
    func isOpen(_ id: FetchID) -> Bool { requests[id.number] != nil }

    var hasOutcomes: Bool { inPlace { $0.hasOutcomes } }

    /// Reads the member in place: a call on the property copies it, which retains all its tables.
    private func inPlace<Value>(_ read: (inout Membership) -> Value) -> Value { read(&member) }

    /// Reports what follows for the resolver. A request that has ended is forgotten.
    func reportOutcomes() {
        guard hasOutcomes else { return }
        for outcome in member.takeOutcomes() {
            switch outcome {
            case .ask(let number):
                guard let request = requests[number] else { continue }
                outbox.report(.event(.fetchSent(request.id)))
                outbox.report(.ask(request))
            case .late(let number, let answer):
                if let request = requests[number] { outbox.report(.event(.fetchShared(request.id, answer))) }
            case .answered(let number, let answer):
                guard let request = requests.removeValue(forKey: number) else { continue }
                outbox.report(.event(.fetchShared(request.id, answer)))
            case .deferred(let number, let end):
                guard let request = requests.removeValue(forKey: number) else { continue }
                outbox.report(.event(.fetchDeferred(request.id, until: end)))
            case .demandElsewhere(let question, let perSecond):
                outbox.report(.event(.demandElsewhere(question, perSecond: perSecond)))
            case .evidence(let evidence): outbox.report(.event(.evidence(evidence.name, evidence.address)))
            case .flush(let scope): outbox.report(.flush(scope))
            case .flushOrdered(let order, let fault): ordered.removeValue(forKey: order)?(fault)
            case .note(let note, let text): outbox.report(.note(name: note.rawValue, text: text))
            case .billed: outbox.report(.billedSums)
            }
        }
    }

    /// Returns for `explain` which member has asked a provider for the question's answer, and when; nil if it was this
    /// member, or if no member is known.
    package func origin(of question: Question, now: Instant) -> String? {
        member.origin(of: question).map { "put \($0.at.duration(to: now).wholeSeconds) s ago by \($0.member)" }
    }

    /// A probe of this member has found that the address is not the name's.
    package func reportEvidence(_ name: Name, _ address: Address, now: Instant) {
        member.reportEvidence(SharedEvidence(name, address), now: now)
        carryOut(now: now)
    }

    // MARK: billed questions

    /// Milliseconds since 1970 by Redis's clock; nil if Redis has not reported its time.
    func wallMilliseconds(at now: Instant) -> Int64? { member.time(at: now)?.milliseconds }

    /// - Parameters:
    ///   - account: provider, account and period.
    ///   - own: all questions of this member in the period.
    func bill(_ account: String, _ count: Int, own: Int) { member.bill(account, count, own: own) }

    /// Counts the questions of the account anew, from the counts of each member.
    func recount(_ account: String, now: Instant) {
        member.recount(account, now: now)
        carryOut(now: now)
    }

    /// The questions of all members in the period, as far as they are known; nil if none are known.
    func billed(_ account: String) -> Int? { member.billed(account) }

    // MARK: flushes

    /// Answers that a provider gave before are not used any more.
    package func flushed(_ scope: QuestionScope, now: Instant) { member.flushed(scope, now: now) }

    /// Why Redis is not used, as a sentence.
    var whyNotUsed: String { "Redis is not used: \(redis.whyNotUsed)" }

    /// Orders all members to flush.
    ///
    /// - Parameter done: called with the reason if Redis cannot be ordered to flush, and with nil when Redis has the
    ///   order.
    package func orderFlush(_ scope: QuestionScope, now: Instant, _ done: @escaping (String?) -> Void) {
        guard !isOn || redis.isInUse else {
            return done("\(whyNotUsed); without --fleet, this machine alone is flushed")
        }
        nextOrder += 1
        ordered[nextOrder] = done
        member.orderFlush(scope, nextOrder, now: now)
        carryOut(now: now)
    }

    /// Restores the member's notes, after the store was read or could not be read.
    ///
    /// - Parameter notes: the notes of the store, by their names.
    package func restore(_ notes: [String: String], now: Instant) {
        let known = notes.compactMap { name, text in FleetNote(rawValue: name).map { ($0, text) } }
        member.restore(Dictionary(uniqueKeysWithValues: known))
        carryOut(now: now)
    }

    /// Whether the flushes are known, as far as Redis is used.
    package var knowsFlushes: Bool { member.knowsFlushes || redis.fault != nil }

    // MARK: members

    private var membersRequested: [([MemberRecord], FleetMembers) -> Void] = []

    /// Tells the other members about this one.
    package func announce(cacheEntries: Int, now: Instant) {
        // Redis may have been given up since the presence was due.
        guard inPlace({ $0.isPresenceDue(now) }) else { return }
        member.announce(record(cacheEntries: cacheEntries), now: now)
        carryOut(now: now)
    }

    /// Reads the members from Redis.
    ///
    /// - Parameter done: not called if the connection ends before the reply.
    func readMembers(now: Instant, _ done: @escaping ([MemberRecord], FleetMembers) -> Void) {
        member.askForMembers()
        membersRequested.append(done)
        carryOut(now: now)
    }

    // MARK: calls

    /// To be called after each change of the member.
    private func carryOut(now: Instant) {
        timer.changed()
        for call in member.takeCalls() {
            let isSent = redis.run(call.script.rawValue, keys: call.keys, call.arguments, now: now) {
                [unowned self] reply, end in
                callLatency.record(now.duration(to: end))
                hear(FleetReply(reply, to: call.script), to: call, sentAt: now, now: end)
            }
            if !isSent { member.callFailed(call, now: now) }
        }
    }

    private func hear(_ reply: FleetReply, to call: FleetCall, sentAt: Instant, now: Instant) {
        member.replied(to: call, reply, sentAt: sentAt, now: now)
        if case .members(_, let members) = reply {
            let requested = exchange(&membersRequested, with: [])
            let records = member.records(in: reply)
            for done in requested { done(records, members) }
        }
        carryOut(now: now)
    }

    /// A percentile of the time of calls to Redis, in milliseconds; nil: there were none.
    ///
    /// - Parameter percent: 0 to 100.
    func callMilliseconds(_ percent: Double) -> Double? { callLatency.percentile(percent).map { Double($0) / 1000 } }

    // MARK: loop

    package var nextDeadline: Instant? {
        guard isBusy else { return nil }
        return Instant.earliest(redis.nextDeadline, inPlace { $0.nextDeadline })
    }

    package func timePassed(now: Instant) {
        guard isBusy else { return }
        redis.timePassed(now: now)
        take(redis.takeNews(), now: now)
        for _ in 0..<member.timePassed(now: now) { redis.callTimedOut(now: now) }
        if inPlace({ $0.isPresenceDue(now) }) { outbox.report(.presenceDue) }
        carryOut(now: now)
        take(redis.takeNews(), now: now)
    }

    private func take(_ news: [RedisLink.News], now: Instant) {
        for event in news {
            switch event {
            case .switchedOn(let server): member.switchedOn(server, now: now)
            case .switchedOff:
                member.switchedOff(now: now)
                membersRequested = []
            case .message(let channel, let bytes): member.heard(bytes, on: channel, now: now)
            }
            carryOut(now: now)
        }
    }
}
