// Schedules requests to providers: starts, queues or displaces them, so that requests of a slow domain leave slots to
// others. A value without clock or timers; its owner carries out each step.
//
// Invariants: a request is in `running` or in `waiting`, or it has ended; `running` agrees with both tables of shares.

package import DNSWire

package struct RequestShares: Sendable {
    package typealias ID = UInt64

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

    private struct Request: Sendable {
        let provider: ProviderID
        let holder: ShareHolder
        /// Domains of the names that are still wanted, each once; more than one in a shared request.
        var domains: [Name]
        let places: Int
        let usualLatency: Duration
        /// When it was added, then when it was started.
        var since: Instant

        func isOverdue(_ now: Instant) -> Bool { overdueAt <= now }

        var overdueAt: Instant { since + overdueAfter }

        /// Allows for a new connection.
        private var overdueAfter: Duration {
            min(max(usualLatency * Bounds.overdueFactor, Bounds.overdueFloor), Bounds.overdueCeiling)
        }

        /// End of the wait for a slot. Slots of other domains become free when their requests are overdue. A slow
        /// domain has its own limit.
        func waitsUntil(isSlow: Bool) -> Instant { since + (isSlow ? usualLatency : overdueAfter + usualLatency) }
    }

    /// The last answer of a provider, and the last one for another domain than that.
    private struct Answers: Sendable {
        var domain: Name
        var at: Instant
        var otherAt: Instant?
        /// The last answer after more than `Bounds.overdueCeiling` without one.
        var silenceEndedAt: Instant?
    }

    private var all: FairShare<ID>
    private var ofProvider: [ProviderID: FairShare<ID>] = [:]
    private var running: [ID: Request] = [:]
    private var waiting: [(id: ID, request: Request)] = []
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

    package var runningCount: Int { running.count }
    package var waitingCount: Int { waiting.count }

    /// When `next` may have a new step; nil if no request waits.
    package func nextDeadline(now: Instant) -> Instant? {
        guard !waiting.isEmpty else { return nil }
        var earliest: Instant?
        for (_, request) in waiting {
            let until = request.waitsUntil(isSlow: isSlow(request.holder.domain, now: now))
            earliest = min(until, earliest ?? until)
        }
        for request in running.values {
            let ends = [request.overdueAt, request.since + Bounds.overdueCeiling, request.since + Bounds.hopelessAfter]
            for at in ends where at > now {
                earliest = min(at, earliest ?? at)
            }
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
        _ id: ID, to provider: ProviderID, for holder: ShareHolder, others: Set<Name> = [], places: Int,
        usualLatency: Duration, now: Instant
    ) {
        let request = Request(
            provider: provider, holder: holder, domains: [holder.domain] + others.subtracting([holder.domain]),
            places: places, usualLatency: usualLatency, since: now)
        waiting.append((id, request))
        ofProvider[provider, default: FairShare(capacity: places)].capacity = places
    }

    /// Removes a domain whose names the request no longer serves. The request's end then says nothing about the domain.
    package mutating func leave(_ id: ID, _ domain: Name) { running[id]?.domains.removeAll { $0 == domain } }

    /// Ends a request, started or not. An unknown one is ignored.
    package mutating func end(_ id: ID, _ end: End, now: Instant) {
        guard let request = release(id) else {
            waiting.removeAll { $0.id == id }
            return
        }
        switch end {
        case .answered: noteAnswer(of: request, now: now)
        case .timedOut:
            noteSlow(request, now: now)
            if request.domains.count > 1 {
                for domain in request.domains { RequestShares.remember(domain, in: &suspectUntil, now: now) }
            }
        case .other: break
        }
    }

    /// Returns the next step; nil if there is none until `nextDeadline`, `add` or `end`.
    package mutating func next(now: Instant) -> Step? {
        var blocked: Set<Blocked> = []
        for index in waiting.indices {
            let (id, request) = waiting[index]
            let (provider, domain) = (request.provider, request.holder.domain)
            let ofDomain = Blocked.domain(provider, domain, nil)
            let ofClient = Blocked.domain(provider, domain, request.holder.client)
            let ofNewcomers = Blocked.uncheckedLinks(provider, areSlow: isSlow(domain, now: now))
            let isNewcomer = ofProvider[provider]?.count(of: domain) == 0
            if blocked.isEmpty
                || !blocked.contains(ofDomain) && !blocked.contains(ofClient)
                    && (!isNewcomer || !blocked.contains(ofNewcomers))
            {
                switch obstacle(to: request, now: now) {
                case .none:
                    waiting.remove(at: index)
                    begin(id, request, now: now)
                    return .start(id)
                case .request(let other):
                    if let released = release(other) { noteSlow(released, now: now) }
                    displaced += 1
                    return .displace(other)
                case .time: blocked.insert(ofDomain)
                case .provider: blocked.insert(isNewcomer ? ofNewcomers : ofDomain)
                case .shareOfClient: blocked.insert(ofClient)
                }
            }
            if request.waitsUntil(isSlow: isSlow(request.holder.domain, now: now)) <= now {
                waiting.remove(at: index)
                expired += 1
                return .expire(id)
            }
        }
        return nil
    }

    /// Groups of requests without a slot in this pass, so that the queue is scanned once per domain, not per request.
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

    private mutating func obstacle(to request: Request, now: Instant) -> Obstacle {
        let domain = request.holder.domain
        guard let places = ofProvider[request.provider] else { return .none }
        if let oldest = places.oldest(of: domain).flatMap({ running[$0] }), oldest.isOverdue(now) {
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
        guard let other = running[id] else { return .none }
        if isUnanswered(other, now: now) { return .request(id) }
        let holder = other.holder.domain
        guard holder != domain else {
            return other.since + Bounds.hopelessAfter <= now || isLost(other) ? .request(id) : .time
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

    /// Whether the request was overdue when a silence of its provider ended. What is sent now is answered sooner.
    private func isLost(_ request: Request) -> Bool {
        answers[request.provider]?.silenceEndedAt.map { request.overdueAt <= $0 } ?? false
    }

    private func isHeldUp(_ request: Request, now: Instant) -> Bool {
        let isShared = request.domains.count > 1
        return request.domains.contains { isSlow($0, now: now) || isShared && isSuspect($0, now: now) }
    }

    private func slowCount(at provider: ProviderID, now: Instant) -> Int {
        running.values.count { $0.provider == provider && isSlow($0.holder.domain, now: now) }
    }

    private mutating func begin(_ id: ID, _ request: Request, now: Instant) {
        var request = request
        request.since = now
        running[id] = request
        all.add(id, for: request.holder)
        ofProvider[request.provider]?.add(id, for: ShareHolder(domain: request.holder.domain, client: nil))
    }

    private mutating func release(_ id: ID) -> Request? {
        guard let request = running.removeValue(forKey: id) else { return nil }
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
            let wasSilent = last.map { $0.at + Bounds.overdueCeiling <= now } ?? false
            answers[request.provider] = Answers(
                domain: domain, at: now, otherAt: otherAt, silenceEndedAt: wasSilent ? now : last?.silenceEndedAt)
        }
    }

    /// Marks the request's domain as slow if the provider answered other domains meanwhile. In a shared request, each
    /// domain is only suspected.
    private mutating func noteSlow(_ request: Request, now: Instant) {
        let isShared = request.domains.count > 1
        for domain in request.domains where hasAnsweredOthers(than: domain, request) {
            if isShared {
                RequestShares.remember(domain, in: &suspectUntil, now: now)
            } else {
                RequestShares.remember(domain, in: &slowUntil, now: now)
            }
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
