// Schedules requests to providers: starts, queues or displaces them, so that requests of a slow domain leave slots to
// others. Has neither clock nor timers; its owner carries out each step. Copies share the requests.
//
// Invariants: a request in `requests` is running or in `waiting`; the running ones agree with both tables of shares.

package import DNSWire

package struct RequestShares {
    /// Number of a request, given by the owner: small, as the tables have a row for each.
    package typealias ID = FairShare.ID

    package enum Step: Equatable, Sendable {
        case start(ID)
        /// The request gives its slot to another one.
        case displace(ID)
        /// The request got no slot in time.
        case expire(ID)
    }

    /// Result of a request that was started.
    package enum End: Sendable {
        case answered
        case timedOut
        /// Any other result, or unknown.
        case other
    }

    /// A class, so that no pass copies it.
    private final class Request {
        let provider: ProviderID
        let holder: ShareHolder
        /// Domains of the names that are still wanted, each once; more than one in a shared request.
        var domains: [Name]
        let usualLatency: Duration
        /// When it was added, then when it was started.
        var since: Instant
        var isRunning = false

        init(
            _ holder: ShareHolder, and others: [Name], provider: ProviderID, usualLatency: Duration, since: Instant
        ) {
            self.provider = provider
            self.holder = holder
            domains = [holder.domain] + others.filter { $0 != holder.domain }
            self.usualLatency = usualLatency
            self.since = since
        }

        func isOverdue(_ now: Instant) -> Bool { overdueAt <= now }

        var overdueAt: Instant { since + overdueAfter }

        /// Allows for a new connection.
        private var overdueAfter: Duration {
            min(max(usualLatency * Bounds.overdueFactor, Bounds.overdueFloor), Bounds.overdueCeiling)
        }
    }

    /// A request in the queue. Small and without references: each pass reads all of them.
    private struct Waiting: Sendable {
        let id: ID
        let group: Int
        /// End of the wait for a slot. Slots of other domains become free when their requests are overdue. A slow
        /// domain has its own limit.
        let until: Instant
        let untilIfSlow: Instant

        init(_ id: ID, _ request: Request, group: Int) {
            self.id = id
            self.group = group
            until = request.overdueAt + request.usualLatency
            untilIfSlow = request.since + request.usualLatency
        }

        func end(isSlow: Bool) -> Instant { isSlow ? untilIfSlow : until }
    }

    /// Requests with equal rights. If one of them has no slot in a pass, no later one has.
    private struct Group: Hashable, Sendable {
        let provider: ProviderID
        let holder: ShareHolder
    }

    /// The last pass that found no slot for a group.
    private struct Finding: Sendable {
        var pass: UInt64 = 0
        var isSlow = false
    }

    /// The last answer of a provider, and the last one for another domain than that.
    private struct Answers: Sendable {
        var domain: Name
        var at: Instant
        var otherAt: Instant?
        /// Since when the provider owes an answer; nil: no request has run since the last one.
        var owedSince: Instant?
        /// The last answer that was owed for longer than `Bounds.overdueCeiling`.
        var silenceEndedAt: Instant?
    }

    /// Requests that have no slot, so that `next` reads only those that were added since. Valid until a request ends.
    private struct Found: Sendable {
        /// Number of requests at the front of the queue that have no slot.
        var count = 0
        var blocked: Set<Blocked> = []
        /// When one of them may have a step.
        var deadline: Instant?
        /// When the pass begins anew: at the deadline, or after a time in which few domains cease to be slow.
        var endsAt: Instant?
        /// A domain has become slow, so that a request found before may have a step.
        var isObsolete = false

        mutating func forget() {
            (count, isObsolete) = (0, false)
            blocked.removeAll(keepingCapacity: true)
            (deadline, endsAt) = (nil, nil)
        }
    }

    private var all: FairShare
    private var ofProvider: [ProviderID: FairShare] = [:]
    private var requests: [Request?] = []
    private var waiting: [Waiting] = []
    /// Groups of the waiting requests.
    private var groups = Numbering<Group>()
    /// By the number of the group.
    private var findings: [Finding] = []
    private var pass: UInt64 = 0
    /// What the present pass has found.
    private var found = Found()
    private var answers: [ProviderID: Answers] = [:]
    private var slowUntil: [Name: Instant] = [:]
    /// Domains of a shared request that hung. Asking each alone shows which one is slow.
    private var suspectUntil: [Name: Instant] = [:]
    /// Requests that gave up their slot, and requests that got none.
    package private(set) var displaced: UInt64 = 0
    package private(set) var expired: UInt64 = 0

    package init(capacity: Int = Bounds.maxRequests) {
        all = FairShare(capacity: capacity)
    }

    package var runningCount: Int { all.count }
    package var waitingCount: Int { waiting.count }

    /// When `next` may have a new step; nil if no request waits.
    package func nextDeadline(now: Instant) -> Instant? {
        found.count == waiting.count && found.count > 0 ? found.deadline : computedDeadline(now: now)
    }

    private func computedDeadline(now: Instant) -> Instant? {
        guard !waiting.isEmpty else { return nil }
        var earliest: Instant?
        func consider(_ instant: Instant) { earliest = min(instant, earliest ?? instant) }
        for request in waiting {
            guard let domain = requests[request.id]?.holder.domain else { continue }
            consider(isSlow(domain, now: now) ? request.untilIfSlow : request.until)
        }
        for case let request? in requests where request.isRunning {
            let ends = (request.overdueAt, request.since + Bounds.overdueCeiling, request.since + Bounds.hopelessAfter)
            if ends.0 > now { consider(ends.0) }
            if ends.1 > now { consider(ends.1) }
            if ends.2 > now { consider(ends.2) }
        }
        return earliest
    }

    /// Whether a request for this domain was given up recently while the provider answered others.
    package func isSlow(_ domain: Name, now: Instant) -> Bool {
        // A look-up in an empty table hashes the name, too.
        !slowUntil.isEmpty && slowUntil[domain].map { now < $0 } ?? false
    }

    /// Whether names of this domain share no request with other domains, which would have to wait too.
    package func isAskedAlone(_ domain: Name, now: Instant) -> Bool {
        isSlow(domain, now: now) || isSuspect(domain, now: now)
    }

    private func isSuspect(_ domain: Name, now: Instant) -> Bool {
        !suspectUntil.isEmpty && suspectUntil[domain].map { now < $0 } ?? false
    }

    /// Drops the state of removed providers.
    package mutating func keep(_ providers: [ProviderID]) {
        found.forget()
        ofProvider = ofProvider.filter { providers.contains($0.key) }
        answers = answers.filter { providers.contains($0.key) }
    }

    /// Queues a request. `next` starts it.
    ///
    /// - Parameters:
    ///   - others: the domains of its other names.
    ///   - places: number of concurrent requests that the provider's connections carry.
    ///   - usualLatency: usual answer time of the provider.
    package mutating func add(
        _ id: ID, to provider: ProviderID, for holder: ShareHolder, others: [Name] = [], places: Int,
        usualLatency: Duration, now: Instant
    ) {
        let request = Request(
            holder, and: others, provider: provider, usualLatency: usualLatency, since: now)
        while requests.count <= id { requests.append(nil) }
        requests[id] = request
        let group = groups.use(Group(provider: provider, holder: holder))
        if group == findings.count { findings.append(Finding()) }
        waiting.append(Waiting(id, request, group: group))
        if ofProvider[provider]?.capacity != places { found.forget() }
        ofProvider[provider, default: FairShare(capacity: places)].capacity = places
    }

    /// Removes a domain whose names the request no longer serves. The request's end then says nothing about the domain.
    package mutating func leave(_ id: ID, _ domain: Name) {
        guard requests.indices.contains(id) else { return }
        found.forget()
        requests[id]?.domains.removeAll { $0 == domain }
    }

    /// Ends a request, started or not. An unknown one is ignored.
    package mutating func end(_ id: ID, _ end: End, now: Instant) {
        guard let request = release(id) else {
            if let index = waiting.firstIndex(where: { $0.id == id }) { leaveQueue(index) }
            return
        }
        switch end {
        case .answered: noteAnswer(of: request, now: now)
        case .timedOut:
            noteSlow(request, now: now)
            if request.domains.count > 1 {
                for domain in request.domains { RequestShares.remember(domain, in: &suspectUntil, now: now) }
            }
        case .other: if !isRunning(request.provider) { answers[request.provider]?.owedSince = nil }
        }
    }

    private func isRunning(_ provider: ProviderID) -> Bool { (ofProvider[provider]?.count ?? 0) > 0 }

    /// Returns the next step; nil if there is none until `nextDeadline`, `add` or `end`.
    package mutating func next(now: Instant) -> Step? {
        guard !waiting.isEmpty else { return nil }
        repeat {
            if found.isObsolete || found.count == 0 || found.endsAt.map({ $0 <= now }) ?? true {
                found.forget()
                pass += 1
            }
            while found.count < waiting.count {
                if let step = step(at: found.count, now: now) {
                    found.forget()
                    return step
                }
                let until = waiting[found.count].end(isSlow: findings[waiting[found.count].group].isSlow)
                found.deadline = Instant.earliest(found.deadline, until)
                found.count += 1
            }
        } while found.isObsolete
        if found.endsAt == nil {
            found.deadline = computedDeadline(now: now)
            found.endsAt = now + Bounds.requestPass
        }
        if let deadline = found.deadline, let endsAt = found.endsAt { found.endsAt = min(deadline, endsAt) }
        return nil
    }

    /// Returns the step of one waiting request; nil if it has no slot and waits on.
    private mutating func step(at index: Int, now: Instant) -> Step? {
        let (id, group) = (waiting[index].id, waiting[index].group)
        if findings[group].pass != pass, let request = requests[id] {
            switch obstacle(to: request, now: now) {
            case .none:
                leaveQueue(index)
                begin(id, request, now: now)
                return .start(id)
            case .request(let other):
                if let released = release(other) { noteSlow(released, now: now) }
                displaced += 1
                return .displace(other)
            case .time, .provider, .shareOfClient:
                findings[group] = Finding(pass: pass, isSlow: isSlow(request.holder.domain, now: now))
            }
        }
        guard waiting[index].end(isSlow: findings[group].isSlow) <= now else { return nil }
        leaveQueue(index)
        expired += 1
        return .expire(id)
    }

    private mutating func leaveQueue(_ index: Int) {
        found.forget()
        let request = waiting.remove(at: index)
        requests[request.id] = nil
        groups.end(request.group)
    }

    /// What has no slot in this pass, so that each domain is judged once.
    private enum Blocked: Hashable {
        case domain(ProviderID, Name, ClientID?)
        /// All domains without a slot at this provider, which have equal rights.
        case uncheckedLinks(ProviderID, areSlow: Bool)
    }

    private enum Obstacle {
        case none
        /// This request may be displaced.
        case request(ID)
        /// The slots hold requests that may still be answered.
        case time
        /// The slots of this provider hold requests that may still be answered.
        case provider
        /// The client's share is used up; other clients may have slots.
        case shareOfClient
    }

    /// Remembers in `found` what has no slot, if another group waits. The pass skips its own group by the number.
    private mutating func obstacle(to request: Request, now: Instant) -> Obstacle {
        guard groups.count > 1 else { return judged(request, now: now) }
        let (provider, domain) = (request.provider, request.holder.domain)
        let ofDomain = Blocked.domain(provider, domain, nil)
        let ofClient = Blocked.domain(provider, domain, request.holder.client)
        let ofNewcomers = Blocked.uncheckedLinks(provider, areSlow: isSlow(domain, now: now))
        let isNewcomer = ofProvider[provider]?.count(of: domain) == 0
        if !found.blocked.isEmpty,
            found.blocked.contains(ofDomain) || found.blocked.contains(ofClient)
                || isNewcomer && found.blocked.contains(ofNewcomers)
        {
            return .time
        }
        let obstacle = judged(request, now: now)
        switch obstacle {
        case .none, .request: break
        case .time: found.blocked.insert(ofDomain)
        case .provider: found.blocked.insert(isNewcomer ? ofNewcomers : ofDomain)
        case .shareOfClient: found.blocked.insert(ofClient)
        }
        return obstacle
    }

    private mutating func judged(_ request: Request, now: Instant) -> Obstacle {
        let domain = request.holder.domain
        guard let places = ofProvider[request.provider] else { return .none }
        if let oldest = places.oldest(of: domain).flatMap({ requests[$0] }), oldest.isOverdue(now) {
            noteSlow(oldest, now: now)
        }
        if isSlow(domain, now: now), slowCount(at: request.provider, now: now) >= max(1, places.capacity / 2) {
            if let own = places.oldest(of: domain) { return leaving(own, for: domain, now: now) }
            return .provider
        }
        let ofDomain = ShareHolder(domain: domain, client: nil)
        if let other = places.displaced(by: ofDomain, domainLimit: places.capacity) {
            let outcome = leaving(other, for: domain, now: now)
            if case .time = outcome { return .provider }
            return outcome
        }
        guard let other = all.displaced(by: request.holder) else { return .none }
        let outcome = leaving(other, for: domain, now: now)
        if case .time = outcome, all.count(of: domain) < all.domainLimit { return .shareOfClient }
        return outcome
    }

    /// Decides whether a running request makes room. A request leaves only for a domain with fewer slots, unless its
    /// own domain is slow.
    private mutating func leaving(_ id: ID, for domain: Name, now: Instant) -> Obstacle {
        guard let other = requests[id] else { return .none }
        if isUnanswered(other, now: now) { return .request(id) }
        let holder = other.holder.domain
        guard holder != domain else {
            return other.since + Bounds.hopelessAfter <= now || isLost(other, now: now) ? .request(id) : .time
        }
        guard other.isOverdue(now) else { return .time }
        noteSlow(other, now: now)
        let places = ofProvider[other.provider]
        let count = { (name: Name) in places?.count(of: name) ?? 0 }
        return isHeldUp(other, now: now) || count(holder) > count(domain) + 1 ? .request(id) : .time
    }

    /// Whether the provider replied to nothing since this request began, for longer than any working provider takes.
    /// Another name then shows whether it still works.
    private func isUnanswered(_ request: Request, now: Instant) -> Bool {
        let heardAt = answers[request.provider]?.at
        return request.since + Bounds.overdueCeiling <= now && heardAt.map { $0 < request.since } ?? true
    }

    /// Whether the request is overdue and was sent before a silence of its provider ended. What is sent now is answered
    /// sooner.
    private func isLost(_ request: Request, now: Instant) -> Bool {
        request.isOverdue(now) && answers[request.provider]?.silenceEndedAt.map { request.since <= $0 } ?? false
    }

    private func isHeldUp(_ request: Request, now: Instant) -> Bool {
        let isShared = request.domains.count > 1
        return request.domains.contains { isSlow($0, now: now) || isShared && isSuspect($0, now: now) }
    }

    private func slowCount(at provider: ProviderID, now: Instant) -> Int {
        requests.count { request in
            guard let request, request.isRunning, request.provider == provider else { return false }
            return isSlow(request.holder.domain, now: now)
        }
    }

    private mutating func begin(_ id: ID, _ request: Request, now: Instant) {
        request.since = now
        request.isRunning = true
        requests[id] = request
        all.add(id, for: request.holder)
        ofProvider[request.provider]?.add(id, for: ShareHolder(domain: request.holder.domain, client: nil))
        if let answers = answers[request.provider], answers.owedSince == nil {
            self.answers[request.provider]?.owedSince = now
        }
    }

    private mutating func release(_ id: ID) -> Request? {
        guard requests.indices.contains(id), let request = requests[id], request.isRunning else { return nil }
        found.forget()
        requests[id] = nil
        all.remove(id)
        ofProvider[request.provider]?.remove(id)
        return request
    }

    private mutating func noteAnswer(of request: Request, now: Instant) {
        // The state of removed providers is dropped.
        guard ofProvider[request.provider] != nil else { return }
        for domain in request.domains {
            if !suspectUntil.isEmpty { suspectUntil[domain] = nil }
            let last = answers[request.provider]
            let otherAt = last.flatMap { $0.domain == domain ? $0.otherAt : $0.at }
            let wasSilent = last?.owedSince.map { $0 + Bounds.overdueCeiling <= now } ?? false
            answers[request.provider] = Answers(
                domain: domain, at: now, otherAt: otherAt, owedSince: isRunning(request.provider) ? now : nil,
                silenceEndedAt: wasSilent ? now : last?.silenceEndedAt)
        }
    }

    /// Marks the request's domain as slow if the provider answered other domains meanwhile. In a shared request, each
    /// domain is only suspected.
    private mutating func noteSlow(_ request: Request, now: Instant) {
        let isShared = request.domains.count > 1
        for domain in request.domains where hasAnsweredOthers(than: domain, request) {
            let wasKnown = isShared ? isSuspect(domain, now: now) : isSlow(domain, now: now)
            if isShared {
                RequestShares.remember(domain, in: &suspectUntil, now: now)
            } else {
                RequestShares.remember(domain, in: &slowUntil, now: now)
            }
            // The table may be full.
            if !wasKnown, isShared ? isSuspect(domain, now: now) : isSlow(domain, now: now) { found.isObsolete = true }
        }
    }

    private func hasAnsweredOthers(than domain: Name, _ request: Request) -> Bool {
        guard let last = answers[request.provider] else { return false }
        return (last.domain == domain ? last.otherAt : last.at).map { $0 >= request.since } ?? false
    }

    private static func remember(_ domain: Name, in table: inout [Name: Instant], now: Instant) {
        if table[domain] == nil, table.count >= Bounds.maxSlowDomains {
            table = table.filter { now < $0.value }
            guard table.count < Bounds.maxSlowDomains else { return }
        }
        table[domain] = now + Bounds.slowDomainMemory
    }
}
