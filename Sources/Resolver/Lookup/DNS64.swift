// DNS64 (RFC 6147): decides which AAAA answers need synthesis, makes IPv6 addresses from the name's IPv4 ones, and
// tracks the waiters for those. The name's own A lookup, which clients share, fetches the IPv4 addresses.

import DNSWire

struct DNS64 {
    /// Result of the A lookup.
    enum Outcome: Equatable {
        case answer(Answer, Source)
        case failed
    }

    private var prefixes: [NAT64Prefix] = []
    /// AAAA questions that need an A lookup.
    private var needed: [Question] = []
    /// The AAAA question of each internal waiter for A.
    private var questionOfWaiter: [Waiter: Question] = [:]
    private var lastNumber = UInt64.max
    /// Recent A answers. Clients ask for both families at once, and either answer may arrive first.
    private var recent: [Question: (answer: Answer, source: Source, at: Instant)] = [:]

    /// TTL limit if the zone's SOA is unknown (RFC 6147 section 5.1.7).
    private static let maxTTLSeconds: UInt32 = 600
    /// Recent A answers: more than a burst of clients asks. Beyond this, all are dropped.
    private static let maxRecent = 256
    /// Lifetime of a recent A answer: the longest gap between the two answers for one client.
    private static let recentAge: Duration = .seconds(5)
    /// Internal waiters are numbered from the top down, clients from the bottom up. All numbers above this are
    /// internal.
    private static let lowestNumber = UInt64.max / 2

    // MARK: need for synthesis

    /// Sets the NAT64 prefixes, and drops the A answers of the former network.
    mutating func setPrefixes(_ prefixes: [NAT64Prefix]) {
        self.prefixes = prefixes
        recent = [:]
    }

    func isOn(for question: Question) -> Bool { question.type == .aaaa && !prefixes.isEmpty }

    /// Returns whether the answer has no usable IPv6 address. IPv4-mapped ones are not usable (RFC 6147 section 5.1.4).
    func isNeeded(for question: Question, _ answer: Answer) -> Bool {
        guard isOn(for: question) else { return false }
        switch answer.kind {
        case .noData: return true
        case .records: return answer.addresses.allSatisfy { $0.mapped != nil }
        case .noSuchName, .ambiguousEmpty: return false
        }
    }

    mutating func need(_ question: Question) { needed.append(question) }

    mutating func takeNeeded() -> [Question] {
        defer { needed = [] }
        return needed
    }

    // MARK: IPv4 addresses

    mutating func learned(_ question: Question, _ answer: Answer, from source: Source, now: Instant) {
        guard question.type == .a, !prefixes.isEmpty else { return }
        if recent.count >= DNS64.maxRecent { recent = [:] }
        recent[question] = (answer, source, now)
    }

    /// Returns a recent A answer; nil if there is none or it has expired.
    func known(_ question: Question, now: Instant) -> (answer: Answer, source: Source)? {
        guard let found = recent[question], found.at.duration(to: now) < DNS64.recentAge else { return nil }
        let aged = found.answer.aged(since: found.at, now: now)
        return aged.ttlSeconds > 0 ? (aged, found.source) : nil
    }

    mutating func forgetAnswers() { recent = [:] }

    /// Returns a new internal waiter for the A lookup.
    mutating func newWaiter(for question: Question) -> Waiter {
        let waiter = Waiter(lastNumber)
        lastNumber -= 1
        questionOfWaiter[waiter] = question
        return waiter
    }

    /// Removes the replies to internal waiters from the actions, and returns them.
    mutating func takeHeard(from actions: inout [Action]) -> [(question: Question, outcome: Outcome)] {
        guard !questionOfWaiter.isEmpty else { return [] }
        var heard: [(Question, Outcome)] = []
        actions.removeAll { action in
            guard let (waiter, outcome) = DNS64.told(by: action), waiter.number > DNS64.lowestNumber else {
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

    // MARK: synthesised answers

    /// - Parameters:
    ///   - answer: the A answer.
    ///   - withoutIPv6: the AAAA answer.
    /// - Returns: nil if there is no IPv4 address to embed.
    func answer(from answer: Answer, _ withoutIPv6: Answer) -> Answer? {
        guard answer.kind == .records else { return nil }
        let limit = withoutIPv6.authority?.ttlSeconds ?? DNS64.maxTTLSeconds
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

extension Resolver {
    /// Starts the requested A lookups and passes on the results of earlier ones. An A lookup ends at once if the answer
    /// is known or no upstream can be asked.
    ///
    /// - Returns: whether anything was done, so that more may follow.
    mutating func synthesise(now: Instant) -> Bool {
        let needed = state.synthesis.takeNeeded()
        for question in needed { askForIPv4(question, now: now) }
        let heard = state.synthesis.takeHeard(from: &state.actions)
        for (question, outcome) in heard { heardOfIPv4(question, outcome, now: now) }
        return !needed.isEmpty || !heard.isEmpty
    }

    private mutating func askForIPv4(_ question: Question, now: Instant) {
        let other = question.with(.a)
        if let (answer, source) = state.synthesis.known(other, now: now) {
            let arranged = state.verification.arranged(other, answer, now: now)
            return heardOfIPv4(question, .answer(arranged, source), now: now)
        }
        let waiter = state.synthesis.newWaiter(for: question)
        lookUp(other, routing.policy.of(other.name), waiter, nil, now: now)
    }

    private mutating func heardOfIPv4(_ question: Question, _ outcome: DNS64.Outcome, now: Instant) {
        guard let number = numberOfQuestion[question] else { return }
        change(number, now: now) { $0.heardOfIPv4(outcome, now: now, &$1) }
    }
}
