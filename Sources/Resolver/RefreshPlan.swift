// Which answers to fetch anew before they expire, and when. Knows the questions that were asked lately, what there is
// to come of them, and how much they are in use; the hits are counted where they happen and are asked for when they
// matter.
//
//     learned ──> scheduled ── its time comes ──> counted ── in use ──> refreshed, and learned again
//                     ▲                              └────── not ────> idle: known, and let expire
//                     └──────── asked again ────────────────────────────┘
//
// Invariants: `numberOf` has every entry once; `deadlines` holds exactly the scheduled ones; there are never more than
// `Bounds.maxPlanned`.

import DNSWire

struct RefreshPlan {
    struct Entry {
        let question: Question
        var demand: Demand
        var expiresAt: Instant
        /// Its turn, kept while it is postponed: who is due first is refreshed first.
        var dueAt: Instant
        var lifetimeSeconds: UInt32 = 0
        /// What it was before it came back too small; nil while nothing is suspected.
        var usualSeconds: UInt32?
        /// The upstream hands out what is left in its own cache: asked before the end, it says the same end again.
        var countsDown = false
        /// Nothing but "no" stands there.
        var isNegative = false
        /// Somebody wants it to be there, asked for or not, and it has not come yet.
        var isWanted = false
        /// The answer that stands was fetched ahead, and so many in a row were not read.
        var isRefreshed = false
        var unread = 0
        /// Its hits are counted, and there was no room for it.
        var isPostponed = false
        /// The provider whose budget has been charged for the refresh to come, and from when on that holds: whoever is
        /// called earlier has to pay anew.
        var payment: (to: ProviderID, from: Instant)?
        /// Its answer was learned on another network: nothing is known to stand here.
        var isElsewhere = false
        /// When the provider's records that the cache holds expire; nil: it holds none, or a provider's "no".
        var providerRecordsEnd: Instant?
        /// Asks and hits, one at least.
        var uses = 1

        init(_ question: Question, _ demand: Demand, expiresAt: Instant) {
            self.question = question
            self.demand = demand
            self.expiresAt = expiresAt
            dueAt = expiresAt
        }

        /// Asked before the end, the upstream would say the same end again.
        var waitsForTurnover: Bool { countsDown || usualSeconds != nil }

        /// When it was counted last.
        var isInUse: Bool { isInUse(demand.perSecond) }

        func isInUse(at now: Instant) -> Bool { isInUse(demand.perSecond(at: now)) }

        private func isInUse(_ asksPerSecond: Double) -> Bool {
            // What does not exist must be asked for again: a scan of invented names is not worth a single refresh.
            guard unread < Bounds.maxUnreadRefreshes, uses > 1 || !isNegative else { return false }
            let lifetime = max(lifetimeSeconds, usualSeconds ?? 0)
            return asksPerSecond * Double(lifetime) >= Bounds.expectedAsksWorthRefreshing
        }

        /// What a place in the plan is worth.
        func worth(at now: Instant) -> Double { isWanted ? .infinity : demand.perSecond(at: now) }

        /// Ends, turnovers and payments were another network's; how long it usually lives is a guess.
        ///
        /// - Parameter isElsewhere: nothing is kept of it on the network in use; nil: it is the same network.
        mutating func networkChanged(isElsewhere: Bool?, now: Instant) {
            expiresAt = now
            lifetimeSeconds = max(lifetimeSeconds, usualSeconds ?? 0)
            usualSeconds = nil
            countsDown = false
            isRefreshed = false
            isPostponed = false
            payment = nil
            if let isElsewhere {
                self.isElsewhere = isElsewhere
                // A network that is known has records of its own, presumably.
                providerRecordsEnd = isElsewhere || isNegative ? nil : now
            }
        }
    }

    private(set) var entries: [Entry] = []
    private var numberOf: [Question: Int] = [:]
    private(set) var deadlines = DeadlineQueue()
    var chance: Chance
    /// Of addresses by type, and of all other types: what the leads of the planned refreshes were made for.
    var plannedPatience: [RecordType?: Duration] = [:]
    /// Where the search for an entry to give up goes on.
    private var hand = 0

    init(seed: UInt64) {
        chance = Chance(seed: seed)
    }

    /// When `popDue` has something.
    var nextDeadline: Instant? { deadlines.earliest }

    /// Wanted, and not there yet: it is tried for until it comes.
    func isWanted(_ question: Question) -> Bool {
        numberOf[question].map { entries[$0].isWanted } ?? false
    }

    /// The last answer had what was asked for.
    func hasRecords(_ question: Question) -> Bool {
        guard let number = numberOf[question] else { return false }
        let entry = entries[number]
        return entry.lifetimeSeconds > 0 && !entry.isNegative && !entry.isElsewhere
    }

    /// When the provider's records that the cache holds for it expire, or have expired; nil: it holds none.
    func providerRecordsEnd(_ question: Question) -> Instant? {
        numberOf[question].flatMap { entries[$0].providerRecordsEnd }
    }

    /// Asks per second; 0 for what is not known.
    func demand(for question: Question) -> Double {
        numberOf[question].map { entries[$0].demand.perSecond } ?? 0
    }

    /// The most asked first; no more than so many.
    func hottest(atMost count: Int, now: Instant) -> [Name] {
        var seen: Set<Name> = []
        var hottest: [Name] = []
        for number in byDemand(now, where: { _ in true }) where hottest.count < count {
            let name = entries[number].question.name
            if seen.insert(name).inserted { hottest.append(name) }
        }
        return hottest
    }

    /// Looks at everything once. To fade a rate costs more, and is done only where it may be among the largest: a rate
    /// that has faded is never larger.
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

    // MARK: what happens

    /// The cache has answered it, near the answer's end; that hit is counted there, as all hits are.
    /// - Returns: whether to refresh it now. False where that is planned, or better left until the answer has ended.
    mutating func foundDue(_ question: Question, now: Instant) -> Bool {
        guard let number = numberOf[question] else {
            asked(question, now: now)
            if let number = numberOf[question] { entries[number].providerRecordsEnd = now }
            return true
        }
        return !deadlines.contains(number) && !entries[number].waitsForTurnover
    }

    /// By a client whom the cache could not answer.
    mutating func asked(_ question: Question, now: Instant) {
        guard let number = numberOf[question] else {
            add(Entry(question, Demand(now: now), expiresAt: now), now: now)
            return
        }
        entries[number].demand.count(1, now: now)
        entries[number].uses += 1
        entries[number].unread = 0
    }

    /// Everything here is due at once.
    mutating func wanted(_ question: Question, now: Instant) {
        let number = numberOf[question] ?? add(Entry(question, Demand(now: now), expiresAt: now), now: now)
        entries[number].isWanted = true
        schedule(number, at: now)
    }

    /// From a former life of the process; whoever is known already is known better, and keeps the place.
    mutating func restored(_ answer: RestoredAnswer, now: Instant) {
        guard numberOf[answer.question] == nil, entries.count < Bounds.maxPlanned else { return }
        let demand = Demand(perSecond: answer.demandPerSecond, now: now)
        var entry = Entry(answer.question, demand, expiresAt: answer.expiresAt)
        entry.lifetimeSeconds = answer.lifetimeSeconds
        entry.isNegative = answer.isNegative
        entry.providerRecordsEnd = answer.isNegative || answer.isSystems ? nil : answer.expiresAt
        schedule(add(entry, now: now), at: max(now, answer.expiresAt - lead(answer.lifetimeSeconds)))
    }

    /// - Parameter patience: how long upstreams need to answer.
    mutating func learned(
        _ question: Question, _ answer: Learned, isRefresh: Bool, patience: Duration, now: Instant
    ) {
        guard let number = numberOf[question] else { return }
        entries[number].isWanted = false
        entries[number].isElsewhere = false
        entries[number].isRefreshed = isRefresh
        entries[number].isNegative = answer.isNegative
        if !answer.isSubstitute {
            judgeLifetime(number, answer.ttlSeconds)
            let isKept = answer.isProviders && !answer.isNegative && answer.ttlSeconds > 0
            entries[number].providerRecordsEnd = isKept ? now + .seconds(Int64(answer.ttlSeconds)) : nil
        }
        let waitsForTurnover = entries[number].waitsForTurnover
        if answer.ttlSeconds > 0 || !waitsForTurnover {
            entries[number].expiresAt = now + .seconds(Int64(answer.ttlSeconds))
            entries[number].lifetimeSeconds = answer.ttlSeconds
        }
        let end = entries[number].expiresAt
        if waitsForTurnover {
            // Never at once again: an end that has passed already would be asked about in circles.
            let turnover = max(end, now + Bounds.turnoverDelay) + chance.duration(upTo: Bounds.turnoverDelay)
            schedule(number, at: turnover)
        } else if answer.ttlSeconds > 0 {
            scheduleAhead(number, by: lead(number, patience))
        }
    }

    /// It is there, and will not be refreshed.
    mutating func gained(_ question: Question) {
        if let number = numberOf[question] { entries[number].isWanted = false }
    }

    /// No upstream answered; it is worth asking again at this time.
    mutating func failed(_ question: Question, retryAt: Instant) {
        guard let number = numberOf[question] else { return }
        schedule(number, at: retryAt + chance.duration(upTo: Bounds.turnoverDelay))
    }

    /// Upstreams answer again: schedules the questions from now on, the most asked first, at a bounded pace.
    mutating func retry(_ questions: [Question], now: Instant) {
        let numbers = Set(questions.compactMap { numberOf[$0] })
        pace(byDemand(now) { numberOf[$0.question].map(numbers.contains) ?? false }, now: now)
    }

    /// It is in use, and there is no room for its refresh yet. Whoever says so asks for nothing that is due until there
    /// is room.
    mutating func postponed(_ question: Question, now: Instant) {
        guard let number = numberOf[question] else { return }
        entries[number].isPostponed = true
        schedule(number, at: min(entries[number].dueAt, now))
    }

    /// It is in use, and its part of a budget is there at this time.
    mutating func paid(_ question: Question, to provider: ProviderID, until instant: Instant) {
        guard let number = numberOf[question] else { return }
        entries[number].isPostponed = true
        entries[number].payment = (provider, instant)
        schedule(number, at: instant)
    }

    // MARK: networks

    /// What is in use is due, the most asked first, at a bounded pace; the rest when somebody asks for it.
    ///
    /// - Parameter isElsewhere: nothing is kept on the network in use; nil: it is the same network.
    mutating func networkChanged(isElsewhere: Bool?, now: Instant) {
        for number in entries.indices {
            deadlines.remove(number)
            entries[number].networkChanged(isElsewhere: isElsewhere, now: now)
        }
        pace(byDemand(now) { $0.isWanted || $0.isInUse(at: now) }, now: now)
    }

    /// What fell due while nobody could be asked comes at the same pace.
    mutating func resumed(now: Instant) {
        let isDue = { (entry: Entry) in entry.dueAt <= now + Bounds.turnoverDelay }
        pace(byDemand(now, where: isDue).filter(deadlines.contains), now: now)
    }

    private mutating func pace(_ numbers: [Int], now: Instant) {
        for (place, number) in numbers.enumerated() { schedule(number, at: now + Bounds.refreshStep * place) }
    }

    /// The most asked first, what is wanted before all; equals in the order in which they came.
    private func byDemand(_ now: Instant, where isMeant: (Entry) -> Bool) -> [Int] {
        let meant = entries.indices.filter { isMeant(entries[$0]) }.map { ($0, entries[$0].worth(at: now)) }
        return meant.sorted { ($1.1, $0.0) < ($0.1, $1.0) }.map(\.0)
    }

    // MARK: what is due

    /// The next question whose time has come, and with it the other address family of the name if that ends soon:
    /// clients ask for both. Whether they are refreshed depends on their hits: `counted`.
    mutating func popDue(_ now: Instant) -> [Question] {
        guard let number = deadlines.popDue(now) else { return [] }
        let question = entries[number].question
        guard let partner = question.otherFamily.flatMap({ numberOf[$0] }), isNearEnd(partner, now) else {
            return [question]
        }
        deadlines.remove(partner)
        return [question, entries[partner].question]
    }

    /// Further questions that are due soon, for a request that has room for them.
    mutating func popEarly(_ now: Instant, atMost count: Int) -> [Question] {
        var questions: [Question] = []
        while questions.count < count, let next = deadlines.first, isNearEnd(next, now) {
            deadlines.remove(next)
            questions.append(entries[next].question)
        }
        return questions
    }

    /// - Parameter hits: replies from the cache since the last count.
    mutating func counted(_ question: Question, hits: Int, now: Instant) -> Prospect {
        guard let number = numberOf[question] else { return Prospect() }
        var entry = entries[number]
        entry.demand.count(hits, now: now)
        entry.uses += hits
        if hits > 0 { entry.unread = 0 } else if !entry.isPostponed { entry.unread += 1 }
        let wasUsed = hits > 0 && entry.isRefreshed
        entry.isRefreshed = entry.isRefreshed && !wasUsed
        // After a sleep all that was paid for would come at once.
        let paidTo = entry.payment.flatMap { payment in
            payment.from <= now && now - payment.from < .seconds(Bounds.budgetBurst) ? payment.to : nil
        }
        entry.isPostponed = false
        entry.payment = nil
        entries[number] = entry
        return Prospect(isInUse: entry.isInUse, isWanted: entry.isWanted, paidTo: paidTo, wasUsed: wasUsed)
    }

    /// Nothing true: it should be left to expire.
    struct Prospect: Equatable {
        var isInUse = false
        /// In use or not.
        var isWanted = false
        /// Whose budget has been charged already.
        var paidTo: ProviderID?
        /// The answer that stands was fetched ahead, and then read.
        var wasUsed = false
    }

    /// What would be found if its hits were counted now, and when that is planned; nil for what is not known. Changes
    /// nothing.
    func outlook(of question: Question, hits: Int, now: Instant) -> (plannedAt: Instant?, prospect: Prospect)? {
        guard let number = numberOf[question] else { return nil }
        var counted = self
        let prospect = counted.counted(question, hits: hits, now: now)
        return (deadlines.contains(number) ? entries[number].dueAt : nil, prospect)
    }

    // MARK: parts

    mutating func schedule(_ number: Int, at instant: Instant) {
        entries[number].dueAt = instant
        deadlines.set(instant, for: number)
    }

    private func lead(_ lifetimeSeconds: UInt32) -> Duration {
        .milliseconds(Freshness.leadMilliseconds(lifetimeSeconds))
    }

    private func isNearEnd(_ number: Int, _ now: Instant) -> Bool {
        let entry = entries[number]
        guard !entry.waitsForTurnover, deadlines.contains(number) else { return false }
        return now.duration(to: entry.expiresAt) <= .seconds(Int64(entry.lifetimeSeconds)) / Bounds.earlyPart
    }

    /// A lifetime that is less than half of the usual one is either what is left in the upstream's cache, or the owner
    /// has changed it. What comes after that end has passed tells.
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
    private mutating func add(_ entry: Entry, now: Instant) -> Int {
        let number: Int
        if entries.count < Bounds.maxPlanned {
            number = entries.count
            entries.append(entry)
        } else {
            number = leastInUse(now: now)
            numberOf[entries[number].question] = nil
            deadlines.remove(number)
            entries[number] = entry
        }
        numberOf[entry.question] = number
        return number
    }

    /// Of a few, which change from time to time: a full table costs no more than a small one.
    private mutating func leastInUse(now: Instant) -> Int {
        var least = hand
        for _ in 0..<Bounds.planSample {
            hand = (hand + 1) % entries.count
            if entries[hand].worth(at: now) < entries[least].worth(at: now) { least = hand }
        }
        hand = (hand + 1) % entries.count
        return least
    }
}
