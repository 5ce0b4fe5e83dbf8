// Decides which answers are prefetched before they expire, and when. Holds the recently asked questions with their
// expiry and demand. The cache counts hits; the plan asks for the counts when an answer is due.

import DNSWire

///     learned ──> scheduled ── due ──> counted ── in use ──> refreshed, and learned again
///                     ▲                   └────── not ────> idle: known, and expires
///                     └──────────── asked again ─────────────┘
///
/// Invariants: `index` has every entry once; `deadlines` holds exactly the scheduled ones; at most `maxPlanned`;
/// `charges` and `demandElsewhere` have numbers of entries only. A kept entry is always scheduled, except between
/// `popDue` and `counted`.
struct RefreshPlan {
    // Most names are not asked in the last tenth of a TTL. Refreshes triggered by hits at that time make one repeated
    // query in ten wait (`scripts/bench replay`). There, demand keeps the requests below twice those of a cache without
    // refreshes. Longer traces cost more: 2.6 times in ten simulated minutes, as more names become known.

    /// The network after a change.
    enum NetworkAfterChange {
        /// The network before the change.
        case same
        /// Another network, whose answers may be cached.
        case known
        /// Another network, for which no answer is cached.
        case new
    }

    /// 112 bytes, of which seven are a gap; an entry seldom has a charge or a demand elsewhere, which are apart.
    struct Entry {
        let question: Question
        /// The last answer is negative.
        var isNegative = false
        /// Requested by the operator; not resolved yet.
        var isRequested = false
        /// The operator wants the answer fresh at all times.
        var isKept = false
        /// A provider has given records on this network, as in `Learned`.
        var isPublic = false
        var demand: Demand
        var expiresAt: Instant
        /// When the entry is due; the earliest due entry is refreshed first. A wait for a request slot does not change
        /// this time, a wait for the budget does.
        var dueAt: Instant
        /// When the provider's records in the cache expire; nil: there are none, or the provider's answer was negative.
        var providerRecordsEnd: Instant?
        /// The current answer was prefetched.
        var isRefreshed = false
        /// The entry's hits are counted already; the refresh waits for a request slot or for the provider's budget.
        var isPostponed = false
        /// The last answer was learned on another network, and none is cached for the current one.
        var isElsewhere = false
        var lifetimeSeconds: UInt32 = 0
        /// The lifetime before a suspiciously short one was received; nil if none was.
        var usualSeconds: UInt32?
        /// The upstream returns the remaining TTL of its own cache entry. A query before the expiry would return the
        /// same expiry again.
        var countsDown = false
        /// Consecutive due times at which the answer had no hits; saturates.
        private(set) var unread: UInt8 = 0
        /// More than one query or cache hit.
        private(set) var isUsedAgain = false

        init(_ question: Question, _ demand: Demand, expiresAt: Instant) {
            self.question = question
            self.demand = demand
            self.expiresAt = expiresAt
            dueAt = expiresAt
        }

        /// Whether the upstream returns, or may return, the remaining TTL of its own cache entry. A query before the
        /// expiry would then get the same expiry.
        var waitsForExpiry: Bool { countsDown || usualSeconds != nil }

        /// Returns whether the question is in use.
        ///
        /// - Parameter asksPerSecond: the demand, that of other members of a fleet included.
        func isInUse(_ asksPerSecond: Double) -> Bool {
            if isKept { return true }
            // A negative answer is refreshed only after a second query, so that scans of random names cause no
            // refreshes.
            guard unread < Bounds.maxUnreadRefreshes, isUsedAgain || !isNegative else { return false }
            let lifetime = max(lifetimeSeconds, usualSeconds ?? 0)
            return asksPerSecond * Double(lifetime) >= Bounds.expectedAsksWorthRefreshing
        }

        mutating func asked(now: Instant) {
            demand.count(1, now: now)
            isUsedAgain = true
            unread = 0
        }

        mutating func counted(_ hits: Int, now: Instant) {
            demand.count(hits, now: now)
            if hits > 0 {
                isUsedAgain = true
                unread = 0
            } else if !isPostponed {
                unread = min(unread, .max - 1) + 1
            }
        }

        /// Discards expiry and countdown of the former network. The usual lifetime remains as an estimate.
        mutating func networkChanged(to network: NetworkAfterChange, now: Instant) {
            expiresAt = now
            lifetimeSeconds = max(lifetimeSeconds, usualSeconds ?? 0)
            usualSeconds = nil
            countsDown = false
            isRefreshed = false
            isPostponed = false
            guard network != .same else { return }
            isPublic = false
            isElsewhere = network == .new
            // A known network presumably has cached records of its own.
            providerRecordsEnd = isElsewhere || isNegative ? nil : now
        }
    }

    private(set) var entries: [Entry] = []
    private var index = HashIndex()
    private(set) var deadlines = DeadlineQueue()
    /// The provider whose refresh budget was charged for an entry's question, and when the refresh may start. A refresh
    /// before that time is charged again. Kept per question, so that one provider's budget delays no refresh at
    /// another.
    private(set) var charges: [Int: (to: RankedID, from: Instant)] = [:]
    /// Demand for an entry's question at other members of the fleet, if known.
    private var demandElsewhere: [Int: Demand] = [:]
    var random: SeededGenerator
    /// Upstream latency that the current leads were planned with.
    var plannedLatency = PlannedLatency()
    /// Position from which the search for an entry to evict continues.
    private var hand = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// When `popDue` returns something; nil if nothing is scheduled.
    var nextDeadline: Instant? { deadlines.earliest }

    /// Returns whether the operator requested the question and it is not resolved yet. It is tried until it succeeds.
    func isRequested(_ question: Question) -> Bool {
        number(of: question).map { entries[$0].isRequested } ?? false
    }

    /// Queries per second on this machine; nil for an unknown question.
    func demand(for question: Question, now: Instant) -> Double? {
        number(of: question).map { entries[$0].demand.perSecond(at: now) }
    }

    mutating func demanded(_ question: Question, perSecond: Double, now: Instant) {
        guard let number = number(of: question) else { return }
        demandElsewhere[number] = Demand(perSecond: perSecond, now: now)
    }

    func isKept(_ question: Question) -> Bool { number(of: question).map { entries[$0].isKept } ?? false }

    /// Returns whether the last answer had records of the requested type, and when the provider's records in the cache
    /// expire or expired; nil: there are none.
    func records(of question: Question) -> (hasAny: Bool, providersEnd: Instant?) {
        guard let number = number(of: question) else { return (false, nil) }
        let hasAny =
            entries[number].lifetimeSeconds > 0 && !entries[number].isNegative && !entries[number].isElsewhere
        return (hasAny, entries[number].providerRecordsEnd)
    }

    /// Whether a provider has given addresses of the name, to clients without a view or subnet.
    func isPublic(_ name: Name) -> Bool {
        DNSSECBits.all.contains { bits in
            [RecordType.a, .aaaa].contains { type in
                number(of: Question(name, type, dnssec: bits)).map { entries[$0].isPublic } ?? false
            }
        }
    }

    /// The names of which a provider has given addresses, to clients without a view.
    var publicNames: Set<Name> {
        Set(
            entries.lazy.filter { $0.isPublic && $0.question.type.isAddress && $0.question.clients.view == 0 }
                .map(\.question.name))
    }

    /// Returns the demand; nil for an unknown question.
    func demand(for question: Question) -> Demand? { number(of: question).map { entries[$0].demand } }

    /// Returns at most `count` names, the most asked first.
    func hottest(atMost count: Int, now: Instant) -> [Name] {
        var seen: Set<Name> = []
        var hottest: [Name] = []
        for number in byDemand(now, where: { _ in true }) where hottest.count < count {
            let name = entries[number].question.name
            if seen.insert(name).inserted { hottest.append(name) }
        }
        return hottest
    }

    /// Returns the questions with the highest query rates in one pass over all entries. Decaying a rate is costly and
    /// happens only if the undecayed rate could be among the largest, because decay never raises a rate.
    func hottestQuestions(
        atMost count: Int, hits: (Question) -> Int, now: Instant
    ) -> [AskedQuestion] {
        var largest = Largest(count)
        for entry in entries {
            let uncounted = hits(entry.question)
            guard uncounted > 0 || entry.demand.perSecond > largest.threshold else { continue }
            var demand = entry.demand
            demand.count(uncounted, now: now)
            largest.offer(entry.question, perSecond: demand.perSecond)
        }
        return largest.questions
    }

    // MARK: events

    /// The cache gave the answer near its expiry and counted that hit as any other.
    /// - Returns: whether to refresh the answer now. False if a refresh is planned, or should wait for the expiry.
    mutating func prefetchDue(_ question: Question, now: Instant) -> Bool {
        guard let number = number(of: question) else {
            asked(question, now: now)
            if let number = number(of: question) { entries[number].providerRecordsEnd = now }
            return true
        }
        return !deadlines.contains(number) && !entries[number].waitsForExpiry
    }

    /// Counts a client's question that the cache could not answer.
    mutating func asked(_ question: Question, now: Instant) {
        guard let number = number(of: question) else {
            add(Entry(question, Demand(now: now), expiresAt: now), now: now)
            return
        }
        entries[number].asked(now: now)
    }

    /// Makes a question requested by the operator due at once.
    mutating func requested(_ question: Question, now: Instant) {
        let number = number(of: question) ?? add(Entry(question, Demand(now: now), expiresAt: now), now: now)
        entries[number].isRequested = true
        schedule(number, at: now)
    }

    /// Keeps the answers to these questions fresh from now on, and no others. Questions that were not kept before are
    /// due at once, at a bounded rate.
    mutating func keep(_ questions: [Question], now: Instant) {
        let formerlyKept = Set(entries.filter(\.isKept).map(\.question))
        for number in entries.indices { entries[number].isKept = false }
        var due: [Int] = []
        for question in questions {
            let number = number(of: question) ?? add(Entry(question, Demand(now: now), expiresAt: now), now: now)
            entries[number].isKept = true
            if !formerlyKept.contains(question) { due.append(number) }
        }
        pace(due, now: now)
    }

    /// Makes the kept questions due whose answers the cache lost.
    mutating func removed(now: Instant, where isRemoved: (Question) -> Bool) {
        pace(entries.indices.filter { entries[$0].isKept && isRemoved(entries[$0].question) }, now: now)
    }

    /// Adds an answer from an earlier run of the daemon. A question that is already known keeps its entry, unless it is
    /// kept and has no answer yet.
    mutating func restored(_ answer: RestoredAnswer, now: Instant) {
        let known = number(of: answer.question)
        let mayRestore =
            known.map { entries[$0].isKept && entries[$0].lifetimeSeconds == 0 } ?? (entries.count < Bounds.maxPlanned)
        guard mayRestore else { return }
        let demand = Demand(perSecond: answer.demandPerSecond, now: now)
        let number = known ?? add(Entry(answer.question, demand, expiresAt: answer.expiresAt), now: now)
        entries[number].expiresAt = answer.expiresAt
        entries[number].lifetimeSeconds = answer.lifetimeSeconds
        entries[number].isNegative = answer.isNegative
        entries[number].providerRecordsEnd = answer.isNegative || answer.isSystems ? nil : answer.expiresAt
        entries[number].isPublic = !answer.isNegative && !answer.isSystems
        schedule(number, at: max(now, answer.expiresAt - lead(answer.lifetimeSeconds)))
    }

    /// - Parameter upstreamLatency: how long upstreams need to answer.
    mutating func learned(
        _ question: Question, _ answer: Learned, isRefresh: Bool, upstreamLatency: Duration, now: Instant
    ) {
        guard let number = number(of: question) else { return }
        entries[number].isRequested = false
        entries[number].isElsewhere = false
        entries[number].isRefreshed = isRefresh
        entries[number].isNegative = answer.isNegative
        entries[number].isPublic = entries[number].isPublic || answer.isPublic
        if !answer.isSubstitute {
            if !answer.mayHaveAged { judgeLifetime(number, answer.ttlSeconds) }
            let isKept = answer.isProviders && !answer.isNegative && answer.ttlSeconds > 0
            entries[number].providerRecordsEnd = isKept ? now + .seconds(Int64(answer.ttlSeconds)) : nil
        }
        let waitsForExpiry = entries[number].waitsForExpiry
        if answer.ttlSeconds > 0 || !waitsForExpiry {
            entries[number].expiresAt = now + .seconds(Int64(answer.ttlSeconds))
            entries[number].lifetimeSeconds = answer.ttlSeconds
        }
        let end = entries[number].expiresAt
        if waitsForExpiry {
            // Never at once: an expiry in the past would cause a query loop.
            let afterExpiry = max(end, now + Bounds.afterExpiryDelay) + random.duration(upTo: Bounds.afterExpiryDelay)
            schedule(number, at: afterExpiry)
        } else if answer.ttlSeconds > 0 {
            scheduleAhead(number, by: lead(number, upstreamLatency))
        }
    }

    /// Ends the operator's request for an answer, because there is one that is not planned for refresh.
    ///
    /// - Parameter isPublic: as in `Learned`.
    mutating func gained(_ question: Question, isPublic: Bool = false) {
        guard let number = number(of: question) else { return }
        entries[number].isRequested = false
        entries[number].isPublic = entries[number].isPublic || isPublic
    }

    /// Postpones the next look at a kept question, which is scheduled already, if this instant is later.
    mutating func postponed(_ question: Question, beyond instant: Instant) {
        guard let number = number(of: question), entries[number].isKept else { return }
        schedule(number, at: max(entries[number].dueAt, instant))
    }

    /// Schedules a retry at this time, as no upstream answered.
    mutating func failed(_ question: Question, retryAt: Instant) {
        guard let number = number(of: question) else { return }
        schedule(number, at: retryAt + random.duration(upTo: Bounds.afterExpiryDelay))
    }

    /// Postpones the refresh of a question in use, as no provider replies or may be asked.
    ///
    /// - Parameter spread: the refresh begins within this time, so that not all begin at once.
    mutating func deferred(
        _ question: Question, until instant: Instant, within spread: Duration = Bounds.afterExpiryDelay
    ) {
        guard let number = number(of: question) else { return }
        entries[number].isPostponed = true
        schedule(number, at: instant + random.duration(upTo: spread))
    }

    /// Schedules questions that failed, the most asked first, after a provider has answered again. The provider's
    /// budget bounds the rate.
    ///
    /// - Parameter step: the interval between two questions.
    mutating func retry(_ questions: [Question], step: Duration, now: Instant) {
        let numbers = Set(questions.compactMap(number))
        let ordered = byDemand(now, where: numbers.contains)
        for (place, number) in ordered.enumerated() { schedule(number, at: now + step * place) }
    }

    /// Postpones the refresh of a question in use because no slot is free. The caller takes no more due questions until
    /// there is one.
    mutating func postponed(_ question: Question, now: Instant) {
        guard let number = number(of: question) else { return }
        entries[number].isPostponed = true
        schedule(number, at: min(entries[number].dueAt, now))
    }

    /// Schedules the refresh of a question in use for the time at which its budget share is available.
    mutating func charged(_ question: Question, to provider: RankedID, from instant: Instant) {
        guard let number = number(of: question) else { return }
        entries[number].isPostponed = true
        charges[number] = (provider, instant)
        schedule(number, at: instant)
    }

    // MARK: networks

    /// Makes the questions in use due, the most asked first, at a bounded rate. The rest wait for a query.
    mutating func networkChanged(to network: NetworkAfterChange, now: Instant) {
        for number in entries.indices {
            deadlines.remove(number)
            entries[number].networkChanged(to: network, now: now)
        }
        charges = [:]
        pace(byDemand(now) { entries[$0].isRequested || isInUse($0, at: now) }, now: now)
    }

    /// Spreads the refreshes that fell due while no upstream could be asked, at the same rate.
    mutating func resumed(now: Instant) {
        let end = now + Bounds.afterExpiryDelay
        pace(byDemand(now) { deadlines.contains($0) && entries[$0].dueAt <= end }, now: now)
    }

    private mutating func pace(_ numbers: [Int], now: Instant) {
        for (place, number) in numbers.enumerated() { schedule(number, at: now + Bounds.refreshStep * place) }
    }

    /// Returns requested and kept entries, then the most asked ones. Equal entries stay in insertion order.
    private func byDemand(_ now: Instant, where isMeant: (Int) -> Bool) -> [Int] {
        let meant = entries.indices.filter(isMeant).map { ($0, priority($0, at: now)) }
        return meant.sorted { ($1.1, $0.0) < ($0.1, $1.0) }.map(\.0)
    }

    // MARK: due refreshes

    /// Takes the next due question, together with the other address family of its name if it expires soon, as clients
    /// ask for both. The hits decide whether they are refreshed: `counted`.
    mutating func popDue(_ now: Instant) -> [Question] {
        guard let number = deadlines.popDue(now) else { return [] }
        let question = entries[number].question
        guard let partner = question.otherFamily.flatMap({ self.number(of: $0) }), isNearEnd(partner, now) else {
            return [question]
        }
        deadlines.remove(partner)
        return [question, entries[partner].question]
    }

    /// Takes further questions that are due soon, for a request with room for them.
    mutating func popEarly(_ now: Instant, atMost count: Int) -> [Question] {
        var questions: [Question] = []
        while questions.count < count, let next = deadlines.first, isNearEnd(next, now) {
            deadlines.remove(next)
            questions.append(entries[next].question)
        }
        return questions
    }

    /// - Parameter hits: cache hits since the last count.
    mutating func counted(_ question: Question, hits: Int, now: Instant) -> Prospect {
        guard let number = number(of: question) else { return Prospect() }
        var entry = entries[number]
        entry.counted(hits, now: now)
        if !demandElsewhere.isEmpty { demandElsewhere[number]?.count(0, now: now) }
        let wasUsed = hits > 0 && entry.isRefreshed
        entry.isRefreshed = entry.isRefreshed && !wasUsed
        // A charge expires after the burst time: after a system sleep all charged refreshes would run at once.
        let chargedTo = charges.removeValue(forKey: number).flatMap { charge in
            charge.from <= now && now - charge.from < .seconds(Bounds.budgetBurst) ? charge.to : nil
        }
        entry.isPostponed = false
        entries[number] = entry
        // The refresh may schedule nothing: its answer has TTL 0, the hosts file has the name, or the other family
        // decides.
        if entry.isKept { schedule(number, at: now + Bounds.failureCeiling) }
        return Prospect(
            isInUse: isInUse(number, at: now), isRequested: entry.isRequested || entry.isKept, chargedTo: chargedTo,
            wasUsed: wasUsed)
    }

    /// Result of a count. If neither `isInUse` nor `isRequested` is true, the answer should expire.
    struct Prospect: Equatable {
        var isInUse = false
        /// The operator requested the question or keeps it fresh, in use or not.
        var isRequested = false
        /// The provider that was already charged for the refresh.
        var chargedTo: RankedID?
        /// The current answer was prefetched and then read.
        var wasUsed = false
    }

    /// Returns the result of a count at this moment and the planned time; nil for an unknown question. Changes nothing.
    func outlook(of question: Question, hits: Int, now: Instant) -> (plannedAt: Instant?, prospect: Prospect)? {
        guard let number = number(of: question) else { return nil }
        var counted = self
        let prospect = counted.counted(question, hits: hits, now: now)
        return (deadlines.contains(number) ? entries[number].dueAt : nil, prospect)
    }

    // MARK: helpers

    private func number(of question: Question) -> Int? {
        index.number(question.indexHash) { entries.span[$0].question == question }
    }

    private func isInUse(_ number: Int, at now: Instant) -> Bool {
        let elsewhere = demandElsewhere[number]?.perSecond(at: now) ?? 0
        return entries[number].isInUse(entries[number].demand.perSecond(at: now) + elsewhere)
    }

    mutating func schedule(_ number: Int, at instant: Instant) {
        entries[number].dueAt = instant
        deadlines.set(instant, for: number)
    }

    private func lead(_ lifetimeSeconds: UInt32) -> Duration {
        .milliseconds(Freshness.leadMilliseconds(lifetimeSeconds))
    }

    private func isNearEnd(_ number: Int, _ now: Instant) -> Bool {
        let entry = entries[number]
        // Other questions are not early: a failed one waits for its retry, and a charged one would be charged twice.
        guard !entry.waitsForExpiry, charges[number] == nil, deadlines.contains(number),
            entry.dueAt <= max(entry.expiresAt, now + Bounds.earlyRetry)
        else { return false }
        return now.duration(to: entry.expiresAt) <= .seconds(Int64(entry.lifetimeSeconds)) / Bounds.earlyPart
    }

    /// Detects upstreams that return remaining TTLs. A lifetime below half of the usual one is either the rest of a
    /// cache entry or a change by the zone's owner. The answer after that expiry decides.
    private mutating func judgeLifetime(_ number: Int, _ seconds: UInt32) {
        if let usual = entries[number].usualSeconds {
            entries[number].countsDown = seconds >= usual / 2
            entries[number].usualSeconds = nil
        } else if seconds < entries[number].lifetimeSeconds / 2 {
            entries[number].usualSeconds = entries[number].lifetimeSeconds
            entries[number].countsDown = false
        }
    }

    @discardableResult
    private mutating func add(_ entry: consuming Entry, now: Instant) -> Int {
        let (number, hash): (Int, Int)
        hash = entry.question.indexHash
        if entries.count < Bounds.maxPlanned {
            number = entries.count
            entries.append(entry)
        } else {
            number = leastInUse(now: now)
            index.remove(number, hash: entries[number].question.indexHash)
            deadlines.remove(number)
            if !charges.isEmpty { charges[number] = nil }
            if !demandElsewhere.isEmpty { demandElsewhere[number] = nil }
            entries[number] = entry
        }
        index.add(number, hash: hash)
        return number
    }

    /// Returns the least used entry of a rotating sample, so that eviction costs the same at every table size. The
    /// sample is larger if it has only requested and kept entries.
    private mutating func leastInUse(now: Instant) -> Int {
        var (least, lowest, looked) = (hand, Double.infinity, 0)
        while looked < Bounds.planSample || lowest == .infinity && looked < entries.count {
            let priority = priority(hand, at: now)
            if priority < lowest { (least, lowest) = (hand, priority) }
            hand = (hand + 1) % entries.count
            looked += 1
        }
        return least
    }

    /// Priority for a place in the plan. Reads the properties in place: a copy of an entry retains its question.
    private func priority(_ number: Int, at now: Instant) -> Double {
        entries[number].isRequested || entries[number].isKept ? .infinity : entries[number].demand.perSecond(at: now)
    }
}
