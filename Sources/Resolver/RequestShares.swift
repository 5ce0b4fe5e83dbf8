// Decides which requests to providers run, which wait for a place and which give theirs up. Requests of a domain that
// hangs leave places to others. A value without clock or timers; its owner carries out each step.
//
// Invariants: a request is in `running` or in `waiting`, or it is over; `running` agrees with both tables of shares.

package import DNSWire

package struct RequestShares: Sendable {
    package typealias ID = UInt64

    package enum Step: Equatable, Sendable {
        case start(ID)
        /// It has given its place to another request.
        case displace(ID)
        /// It has waited in vain.
        case expire(ID)
    }

    /// How a request ended that had begun.
    package enum End: Sendable {
        case answered
        case timedOut
        /// Otherwise, or nothing is known.
        case other
    }

    private struct Request: Sendable {
        let provider: ProviderID
        let holder: ShareHolder
        /// Those of its names that are still wanted, each once; more than one in a shared request.
        var domains: [Name]
        let places: Int
        let usualLatency: Duration
        /// As it came, then as it began.
        var since: Instant

        func isOverdue(_ now: Instant) -> Bool { overdueAt <= now }

        var overdueAt: Instant { since + overdueAfter }

        /// It may be on a new connection.
        private var overdueAfter: Duration {
            min(max(usualLatency * Bounds.overdueFactor, Bounds.overdueFloor), Bounds.overdueCeiling)
        }

        /// While it waits. What other domains hold is free again when that is overdue; a slow domain has its part.
        func waitsUntil(isSlow: Bool) -> Instant { since + (isSlow ? usualLatency : overdueAfter + usualLatency) }
    }

    /// The last answer of a provider, and the last one for another domain than that.
    private struct Answers: Sendable {
        var domain: Name
        var at: Instant
        var otherAt: Instant?
    }

    private var all: FairShare<ID>
    private var ofProvider: [ProviderID: FairShare<ID>] = [:]
    private var running: [ID: Request] = [:]
    private var waiting: [(id: ID, request: Request)] = []
    private var answers: [ProviderID: Answers] = [:]
    private var slowUntil: [Name: Instant] = [:]
    /// Domains of shared requests that hung: which of them is slow shows when each is asked alone.
    private var suspectUntil: [Name: Instant] = [:]
    /// Requests that gave up their place, and that found none.
    package private(set) var displaced: UInt64 = 0
    package private(set) var expired: UInt64 = 0

    package init(capacity: Int = Bounds.maxRequests) {
        all = FairShare(capacity: capacity)
    }

    package var runningCount: Int { running.count }
    package var waitingCount: Int { waiting.count }

    /// When `next` may have a step that it has not now; nil while nothing waits.
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

    /// A request for this domain was given up lately, while the provider answered others.
    package func isSlow(_ domain: Name, now: Instant) -> Bool { slowUntil[domain].map { now < $0 } ?? false }

    /// Its names share no request with another domain, which would have to wait with it.
    package func isAskedAlone(_ domain: Name, now: Instant) -> Bool {
        isSlow(domain, now: now) || isSuspect(domain, now: now)
    }

    private func isSuspect(_ domain: Name, now: Instant) -> Bool { suspectUntil[domain].map { now < $0 } ?? false }

    /// Forgets the providers that are not configured any more.
    package mutating func keep(_ providers: [ProviderID]) {
        ofProvider = ofProvider.filter { providers.contains($0.key) }
        answers = answers.filter { providers.contains($0.key) }
    }

    /// Puts a request into the queue. `next` says when it begins.
    ///
    /// - Parameters:
    ///   - others: the domains of its names beside the holder's.
    ///   - places: how many requests the provider's connections carry at once.
    ///   - usualLatency: how long an answer of the provider usually takes, and the request waits at most.
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

    /// No name of this domain is wanted from the request any more, and how it ends says nothing about the domain.
    package mutating func leave(_ id: ID, _ domain: Name) { running[id]?.domains.removeAll { $0 == domain } }

    /// The request is over, begun or not; one that is not known is ignored.
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

    /// The next thing to do; nil when there is none until `nextDeadline`, `add` or `end`.
    package mutating func next(now: Instant) -> Step? {
        var blocked: Set<Blocked> = []
        for index in waiting.indices {
            let (id, request) = waiting[index]
            let (provider, domain) = (request.provider, request.holder.domain)
            let ofDomain = Blocked.domain(provider, domain, nil)
            let ofClient = Blocked.domain(provider, domain, request.holder.client)
            let ofNewcomers = Blocked.newcomers(provider, areSlow: isSlow(domain, now: now))
            let isNewcomer = ofProvider[provider]?.count(of: domain) == 0
            if !blocked.contains(ofDomain), !blocked.contains(ofClient),
                !isNewcomer || !blocked.contains(ofNewcomers)
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

    /// What has no place in this turn, so that the queue is walked once for each domain and not for each request.
    private enum Blocked: Hashable {
        case domain(ProviderID, Name, ClientID?)
        /// All domains without a place at this provider: they are equals, however many they are.
        case newcomers(ProviderID, areSlow: Bool)
    }

    private enum Obstacle {
        case none
        /// This one has to leave, and may.
        case request(ID)
        /// Places are taken by requests that may still be answered.
        case time
        /// The same, at the provider.
        case provider
        /// The same, and other clients may have places.
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

    /// Equals wait for each other: a request leaves only for a domain that has fewer, unless its own is slow.
    private mutating func leaving(_ id: ID, for domain: Name, now: Instant) -> Obstacle {
        guard let other = running[id] else { return .none }
        if isUnanswered(other, now: now) { return .request(id) }
        let holder = other.holder.domain
        guard holder != domain else { return other.since + Bounds.hopelessAfter <= now ? .request(id) : .time }
        guard other.isOverdue(now) else { return .time }
        noteSlow(other, now: now)
        let places = ofProvider[other.provider]
        let count = { (name: Name) in places?.count(of: name) ?? 0 }
        return isHeldUp(other, now: now) || count(holder) > count(domain) + 1 ? .request(id) : .time
    }

    /// The provider has replied to nothing since this request began, a time in which every provider that works replies.
    /// Another name shows whether it still does.
    private func isUnanswered(_ request: Request, now: Instant) -> Bool {
        let heardAt = answers[request.provider]?.at
        return request.since + Bounds.overdueCeiling <= now && heardAt.map { $0 < request.since } ?? true
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
        // Those of removed providers are forgotten.
        guard ofProvider[request.provider] != nil else { return }
        for domain in request.domains {
            suspectUntil[domain] = nil
            let last = answers[request.provider]
            let otherAt = last.flatMap { $0.domain == domain ? $0.otherAt : $0.at }
            answers[request.provider] = Answers(domain: domain, at: now, otherAt: otherAt)
        }
    }

    /// As long as the provider answers nothing else either, it is not the domain that is slow. Of a shared request any
    /// domain may be.
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
