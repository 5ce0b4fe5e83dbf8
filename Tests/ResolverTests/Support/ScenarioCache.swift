// The cache of a scenario: the resolver's stored answers with TTLs that count down, and the hits on them. It is as
// simple as possible and never evicts.

import DNSWire

@testable import Resolver

struct ScenarioCache: KnownAnswers, CacheOfActions {
    /// Whether clients get answers from the cache.
    var isUsed = true

    private struct Key: Hashable {
        let question: Question
        /// Whether the answer is the system resolver's. All providers share one entry.
        let isSystems: Bool
        let network: UInt32
    }

    private struct Entry {
        var answer: Answer
        let storedAt: Instant
        var isAwaited = false
        var hits = 0
        /// Whether a hit was reported as due, which happens once for each answer.
        var isReported = false
    }

    struct Hit {
        let answer: Answer
        let isFirstWhenDue: Bool
        /// Whether it is the first hit since the resolver began to await one.
        let isAwaited: Bool
    }

    private var entries: [Key: Entry] = [:]
    private var network: UInt32 = 0
    /// The network of the last change.
    private var inUse = NetworkID(rawValue: 0)
    /// The other networks, the latest first.
    private var otherNetworks: [UInt32] = []

    /// Follows a network event. While the network changes, the cache serves no part.
    mutating func heard(_ news: NetworkEvent) {
        switch news {
        case .changed(let key):
            inUse = key
            change(to: key)
        case .changing: change(to: NetworkID(rawValue: .max))
        case .unchanged: change(to: inUse)
        case .forgotten, .unreachable: break
        }
    }

    private mutating func change(to network: NetworkID) {
        guard network.rawValue != self.network else { return }
        otherNetworks.removeAll { $0 == network.rawValue }
        otherNetworks.insert(self.network, at: 0)
        self.network = network.rawValue
    }

    /// - Parameter age: the age of an answer that does not come from an upstream.
    mutating func store(_ question: Question, _ answer: Answer, isSystems: Bool, age: Duration, now: Instant) {
        let key = self.key(question, isSystems)
        // Hits that are not counted yet belong to the question, not to the answer.
        entries[key] = Entry(answer: answer, storedAt: now - age, hits: entries[key]?.hits ?? 0)
        if !isSystems { entries[self.key(question, true)] = nil }
    }

    /// The hit for a client's question, a provider's answer before the system resolver's; nil: there is no usable one.
    /// With RD=0 (`isCacheOnly`), the question leaves no trace.
    mutating func ask(_ question: Question, isCacheOnly: Bool = false, now: Instant) -> Hit? {
        for isSystems in [false, true] {
            let key = self.key(question, isSystems)
            guard var entry = entries[key] else { continue }
            let freshness = aged(entry, question, now).freshness(Freshness.Limits(maxAgeSeconds: 0))
            guard freshness == .fresh || freshness == .due else { continue }
            let answer = entry.answer.older(by: ageSeconds(entry, now))
            guard !isCacheOnly else { return Hit(answer: answer, isFirstWhenDue: false, isAwaited: false) }
            entry.hits += 1
            let isFirst = freshness == .due && !entry.isReported
            entry.isReported = entry.isReported || isFirst
            let isAwaited = entry.isAwaited
            entry.isAwaited = false
            entries[key] = entry
            return Hit(answer: answer, isFirstWhenDue: isFirst, isAwaited: isAwaited)
        }
        return nil
    }

    func expired(
        _ question: Question, within limits: @autoclosure () -> Freshness.Limits, now: Instant
    ) -> AgedAnswer? {
        guard isUsed else { return nil }
        let limits = limits()
        let here = [false, true].compactMap { isSystems in
            entries[key(question, isSystems)].map { aged($0, question, now, isSystems ? .system : .provider) }
        }
        let elsewhere = otherNetworks.compactMap {
            entries[Key(question: question, isSystems: false, network: $0)]
        }.map { aged($0, question, now, .otherNetwork) }
        return (here + elsewhere).first { $0.isUsable(limits) }
    }

    func known(_ question: Question, within limits: Freshness.Limits, now: Instant) -> AgedAnswer? {
        guard isUsed else { return nil }
        return [false, true].compactMap { isSystems in
            entries[key(question, isSystems)].map { aged($0, question, now, isSystems ? .system : .provider) }
        }.first { $0.freshness(limits) != .gone }
    }

    /// The remaining TTL of the provider's answer; nil: there is none.
    func life(of question: Question, now: Instant) -> Duration? {
        entries[key(question, false)].map { .seconds($0.answer.ttlSeconds) - (now - $0.storedAt) }
    }

    mutating func awaitHit(_ question: Question, isSystems: Bool) {
        entries[key(question, isSystems)]?.isAwaited = true
    }

    mutating func rearrange(_ question: Question, _ answer: Answer, isSystems: Bool) {
        entries[key(question, isSystems)]?.answer = answer
    }

    mutating func withdraw(_ question: Question, isSystems: Bool) {
        entries[key(question, isSystems)] = nil
    }

    mutating func store(_ question: Question, _ answer: Answer, isSystems: Bool, now: Instant) {
        store(question, answer, isSystems: isSystems, age: .zero, now: now)
    }

    mutating func remove(_ question: Question) { forget(question) }

    /// Removes the entries that the daemon's loop removes after this event.
    mutating func forget(behind news: PortalEvent) {
        switch news {
        case .suspected: entries = entries.filter { !PortalNames().cover($0.key.question.name) }
        case .redirects(let host): entries = entries.filter { !$0.key.question.name.isWithin(host) }
        case .ended: break
        }
    }

    func hits(_ question: Question) -> Int {
        [false, true].reduce(0) { $0 + (entries[key(question, $1)]?.hits ?? 0) }
    }

    mutating func takeHits(_ question: Question) -> Int {
        var hits = 0
        for isSystems in [false, true] {
            let key = self.key(question, isSystems)
            hits += entries[key]?.hits ?? 0
            entries[key]?.hits = 0
        }
        return hits
    }

    /// - Parameter question: the question to forget; nil: all.
    mutating func forget(_ question: Question?) {
        entries = question.map { gone in entries.filter { $0.key.question != gone } } ?? [:]
    }

    private func ageSeconds(_ entry: Entry, _ now: Instant) -> UInt32 { UInt32((now - entry.storedAt) / .seconds(1)) }

    private func key(_ question: Question, _ isSystems: Bool) -> Key {
        Key(question: question, isSystems: isSystems, network: network)
    }

    private func aged(
        _ entry: Entry, _ question: Question, _ now: Instant, _ sourceRank: AgedAnswer.SourceRank = .provider
    ) -> AgedAnswer {
        AgedAnswer(
            RenderedAnswer(entry.answer.remarked(nil), to: question),
            ageMilliseconds: Int64(((now - entry.storedAt) / .milliseconds(1)).rounded(.down)),
            lifetimeSeconds: entry.answer.ttlSeconds, sourceRank: sourceRank)
    }
}

extension Answer {
    fileprivate func older(by seconds: UInt32) -> Answer {
        let aged = { (ttl: UInt32) in ttl - min(ttl, seconds) }
        guard kind != .records else { return Answer(records: records.map { $0.withTTL(aged($0.ttlSeconds)) }) }
        return Answer(
            negative: kind, chain: records.map { $0.withTTL(aged($0.ttlSeconds)) },
            authority: authority.map { $0.withTTL(aged($0.ttlSeconds)) }, ttlSeconds: aged(ttlSeconds))
    }
}

/// A cache of the tests that changes by the resolver's actions.
protocol CacheOfActions {
    mutating func store(_ question: Question, _ answer: Answer, isSystems: Bool, now: Instant)
    mutating func rearrange(_ question: Question, _ answer: Answer, isSystems: Bool)
    mutating func remove(_ question: Question)
    mutating func withdraw(_ question: Question, isSystems: Bool)
    mutating func awaitHit(_ question: Question, isSystems: Bool)
}

extension CacheOfActions {
    /// Changes the cache as the daemon does; most actions do not.
    mutating func carryOut(_ action: Action, now: Instant) {
        switch action {
        case .store(let question, let answer, let source, _):
            store(question, answer, isSystems: source == .system, now: now)
        case .rearrange(let question, let answer, let source, _):
            rearrange(question, answer, isSystems: source == .system)
        case .remove(let question): remove(question)
        case .withdraw(let question, let source): withdraw(question, isSystems: source == .system)
        case .awaitAsk(let question, let source): awaitHit(question, isSystems: source == .system)
        case .fetch, .shadow, .abandon, .reply, .replyExpired, .fail: break
        case .probe, .probeNews, .forged, .contradicted, .portal, .doubt: break
        }
    }
}
