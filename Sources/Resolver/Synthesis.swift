// IPv6 addresses for names that have none, where the network translates to IPv4 (DNS64, RFC 6147): which answers call
// for it, what is made of the name's IPv4 addresses, and who waits for those. Asks nobody: the lookup of the name's A
// does, which is shared with clients that ask for A.

import DNSWire

struct Synthesis {
    /// What came of the question for A.
    enum Outcome: Equatable {
        case answer(Answer, Source)
        case failed
    }

    private var prefixes: [TranslationPrefix] = []
    /// Questions for AAAA whose names' A is to be asked for.
    private var wanted: [Question] = []
    /// Which AAAA each of our own waiters for A stands for.
    private var questionOfWaiter: [Waiter: Question] = [:]
    private var lastNumber = UInt64.max
    /// A that was learned a moment ago: clients ask for both families at once, and one of the answers comes first.
    private var recent: [Question: (answer: Answer, source: Source, at: Instant)] = [:]

    /// RFC 6147 section 5.1.7, where nothing is known of the zone's own bound.
    private static let maxTTLSeconds: UInt32 = 600
    /// More than a burst of clients asks; then the memory starts over.
    private static let maxRecent = 256
    /// For as long the two answers for one client are apart at most.
    private static let recentAge: Duration = .seconds(5)
    /// Our waiters are numbered from the top down, and clients from the bottom up; they do not meet in this half.
    private static let lowestNumber = UInt64.max / 2

    // MARK: what is wanted

    /// Another network's IPv4 addresses are not this one's.
    mutating func setPrefixes(_ prefixes: [TranslationPrefix]) {
        self.prefixes = prefixes
        recent = [:]
    }

    func isOn(for question: Question) -> Bool { question.type == .aaaa && !prefixes.isEmpty }

    /// There are no IPv6 addresses in it that lead anywhere; IPv4-mapped ones do not (RFC 6147 section 5.1.4).
    func isWanted(for question: Question, _ answer: Answer) -> Bool {
        guard isOn(for: question) else { return false }
        switch answer.kind {
        case .noData: return true
        case .records: return answer.addresses.allSatisfy { $0.mapped != nil }
        case .noSuchName, .unprovenEmpty: return false
        }
    }

    mutating func want(_ question: Question) { wanted.append(question) }

    mutating func takeWanted() -> [Question] {
        defer { wanted = [] }
        return wanted
    }

    // MARK: IPv4 addresses

    mutating func learned(_ question: Question, _ answer: Answer, from source: Source, now: Instant) {
        guard question.type == .a, !prefixes.isEmpty else { return }
        if recent.count >= Synthesis.maxRecent { recent = [:] }
        recent[question] = (answer, source, now)
    }

    /// Nil when it is not known, or not any more.
    func known(_ question: Question, now: Instant) -> (answer: Answer, source: Source)? {
        guard let found = recent[question], found.at.duration(to: now) < Synthesis.recentAge else { return nil }
        let aged = found.answer.aged(since: found.at, now: now)
        return aged.ttlSeconds > 0 ? (aged, found.source) : nil
    }

    mutating func forgetAnswers() { recent = [:] }

    /// Stands among those who wait for A.
    mutating func newWaiter(for question: Question) -> Waiter {
        let waiter = Waiter(lastNumber)
        lastNumber -= 1
        questionOfWaiter[waiter] = question
        return waiter
    }

    /// Takes what our own waiters are told out of what is to be done.
    mutating func takeHeard(from actions: inout [Action]) -> [(question: Question, outcome: Outcome)] {
        guard !questionOfWaiter.isEmpty else { return [] }
        var heard: [(Question, Outcome)] = []
        actions.removeAll { action in
            guard let (waiter, outcome) = Synthesis.told(by: action), waiter.number > Synthesis.lowestNumber else {
                return false
            }
            if let question = questionOfWaiter.removeValue(forKey: waiter) { heard.append((question, outcome)) }
            return true
        }
        return heard
    }

    private static func told(by action: Action) -> (Waiter, Outcome)? {
        switch action {
        case .reply(let waiter, _, .fallback), .replyExpired(let waiter, _, _), .fail(let waiter, _, _):
            (waiter, .failed)
        case .reply(let waiter, let answer, let source): (waiter, .answer(answer, source))
        default: nil
        }
    }

    // MARK: what is made of them

    /// - Parameters:
    ///   - answer: to the question for A.
    ///   - withoutIPv6: what was said of AAAA.
    /// - Returns: nil when there is nothing to make an IPv6 address of.
    func answer(from answer: Answer, _ withoutIPv6: Answer) -> Answer? {
        guard answer.kind == .records else { return nil }
        let limit = withoutIPv6.authority?.ttlSeconds ?? Synthesis.maxTTLSeconds
        var hasAddress = false
        let records = answer.records.compactMap { record -> ResourceRecord? in
            guard record.type == .a else { return record }
            guard let inner = record.address, let address = prefixes.lazy.compactMap({ $0.embed(inner) }).first else {
                return nil
            }
            hasAddress = true
            return ResourceRecord(owner: record.owner, address: address, ttlSeconds: min(record.ttlSeconds, limit))
        }
        return hasAddress ? Answer(records: records).remarked(.synthesised) : nil
    }
}

extension Lookup {
    /// Nobody is asked any more but for the name's A, and that by its own lookup.
    mutating func beginAwaitingIPv4(_ answer: Answer, _ source: Source, now: Instant, _ around: inout Surroundings) {
        guard withoutIPv6 == nil else { return }
        withoutIPv6 = (answer, source, now)
        abandonAll(now: now, &around)
        askNobodyElse()
        nextProviderAt = nil
        leftOut = nil
        system = .absent
        around.synthesis.want(question)
    }

    /// Clients wait no longer than they would have for a first answer.
    mutating func awaitIPv4(now: Instant, _ around: inout Surroundings) {
        if giveUpAt <= now {
            fail(now: now, &around)
        } else if !waiters.isEmpty, expiredDueAt <= now {
            replyExpired(.timeout, &around)
        }
    }

    mutating func heardOfIPv4(_ outcome: Synthesis.Outcome, now: Instant, _ around: inout Surroundings) {
        guard let withoutIPv6, !isFinished else { return }
        guard case .answer(let answer, let source) = outcome else {
            someoneFailed = true
            return fail(now: now, &around)
        }
        let left = withoutIPv6.answer.aged(since: withoutIPv6.at, now: now)
        let isSystems = withoutIPv6.source == .system && upstreams != .system
        guard let made = around.synthesis.answer(from: answer, left) else {
            return end(with: left, from: withoutIPv6.source, isSubstitute: isSystems, now: now, &around)
        }
        // It is worth no more than the weaker of the two words.
        let isSubstitute = isSystems || source == .system && upstreams != .system
        let kept = policy.cache.applied(to: made)
        end(
            with: isSubstitute ? kept.withTTL(to: Bounds.systemSubstituteTTLSeconds) : kept,
            from: isSubstitute ? .system : source, isSubstitute: isSubstitute, now: now, &around)
    }
}

extension Resolver {
    /// Begins the lookups that are wanted, and hands on what came of those before. One for A ends at once where the
    /// answer is known, or nobody can be asked.
    ///
    /// - Returns: whether there was anything to do, so that there may be more.
    mutating func synthesise(now: Instant) -> Bool {
        let wanted = around.synthesis.takeWanted()
        for question in wanted { askForIPv4(question, now: now) }
        let heard = around.synthesis.takeHeard(from: &around.actions)
        for (question, outcome) in heard { heardOfIPv4(question, outcome, now: now) }
        return !wanted.isEmpty || !heard.isEmpty
    }

    private mutating func askForIPv4(_ question: Question, now: Instant) {
        let other = question.with(.a)
        if let (answer, source) = around.synthesis.known(other, now: now) {
            let arranged = around.verification.arranged(other, answer, now: now)
            return heardOfIPv4(question, .answer(arranged, source), now: now)
        }
        let waiter = around.synthesis.newWaiter(for: question)
        lookUp(other, routing.policy.of(other.name), waiter, nil, now: now)
    }

    private mutating func heardOfIPv4(_ question: Question, _ outcome: Synthesis.Outcome, now: Instant) {
        guard let number = numberOfQuestion[question] else { return }
        change(number, now: now) { $0.heardOfIPv4(outcome, now: now, &$1) }
    }
}
