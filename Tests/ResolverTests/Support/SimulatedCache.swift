// A plain model of the cache for the simulation: the latest answers by question and kind of source, and their hits. It
// never evicts.

import DNSWire

@testable import Resolver

struct SimulatedCache: KnownAnswers, CacheOfActions {
    enum Found {
        case fresh(Hit)
        case none(expired: AgedAnswer?)
    }

    struct Hit {
        let answer: Answer
        let ttlSeconds: UInt32
        let isFirstDue: Bool
        let isAwaited: Bool
    }

    private struct Key: Hashable {
        let question: Question
        let isSystems: Bool
        let network: UInt32
    }

    private struct Entry {
        var answer: Answer
        let storedAt: Instant
        var hits = 0
        var wasDue = false
        var isAwaited = false

        func aged(_ question: Question, _ now: Instant, _ sourceRank: AgedAnswer.SourceRank = .provider) -> AgedAnswer {
            AgedAnswer(
                RenderedAnswer(answer, to: question),
                ageMilliseconds: Int64(storedAt.duration(to: now) / .milliseconds(1)),
                lifetimeSeconds: answer.ttlSeconds, sourceRank: sourceRank)
        }
    }

    private var entries: [Key: Entry] = [:]
    private var network: UInt32 = 0
    /// The other networks, the latest first.
    private var otherNetworks: [UInt32] = []

    mutating func change(to key: NetworkID) {
        guard key.rawValue != network else { return }
        otherNetworks.removeAll { $0 == key.rawValue }
        if network > 0 { otherNetworks.insert(network, at: 0) }
        network = key.rawValue
    }

    mutating func forget(_ key: NetworkID) {
        otherNetworks.removeAll { $0 == key.rawValue }
        entries = entries.filter { $0.key.network != key.rawValue }
    }

    private func key(_ question: Question, _ isSystems: Bool) -> Key {
        Key(question: question, isSystems: isSystems, network: network)
    }

    mutating func store(_ question: Question, _ answer: Answer, isSystems: Bool, now: Instant) {
        let key = self.key(question, isSystems)
        let hits = entries[key]?.hits ?? 0
        entries[key] = Entry(answer: answer, storedAt: now, hits: hits)
        if !isSystems { entries[self.key(question, true)] = nil }
    }

    mutating func ask(_ question: Question, now: Instant) -> Found {
        for isSystems in [false, true] {
            let key = self.key(question, isSystems)
            guard var entry = entries[key] else { continue }
            let aged = entry.aged(question, now)
            guard aged.ageMilliseconds < Int64(aged.lifetimeSeconds) * 1000 else { continue }
            let isDue = aged.freshness(Freshness.Limits(maxAgeSeconds: 0)) == .due
            let isFirstDue = isDue && !entry.wasDue
            entry.hits += 1
            entry.wasDue = isDue
            let isAwaited = entry.isAwaited
            entry.isAwaited = false
            entries[key] = entry
            let age = UInt32(aged.ageMilliseconds / 1000)
            return .fresh(
                Hit(
                    answer: entry.answer, ttlSeconds: entry.answer.ttlSeconds - age, isFirstDue: isFirstDue,
                    isAwaited: isAwaited))
        }
        return .none(expired: expired(question, within: Freshness.Limits(maxAgeSeconds: 0), now: now))
    }

    /// The expired answer; the resolver decides whether to use it.
    func expired(
        _ question: Question, within limits: @autoclosure () -> Freshness.Limits, now: Instant
    ) -> AgedAnswer? {
        let here = [false, true].lazy.compactMap { entries[key(question, $0)]?.aged(question, now) }
        return here.first { $0.ageMilliseconds >= Int64($0.lifetimeSeconds) * 1000 } ?? lastResort(question, now: now)
    }

    func known(_ question: Question, within limits: Freshness.Limits, now: Instant) -> AgedAnswer? {
        [false, true].compactMap { isSystems in
            entries[key(question, isSystems)].map { $0.aged(question, now, isSystems ? .system : .provider) }
        }.first { $0.freshness(limits) != .gone }
    }

    private func lastResort(_ question: Question, now: Instant) -> AgedAnswer? {
        otherNetworks.lazy.compactMap { entries[Key(question: question, isSystems: false, network: $0)] }
            .map { $0.aged(question, now, .otherNetwork) }.first { !$0.answer.isNegative }
    }

    func hits(_ question: Question) -> Int {
        [false, true].reduce(0) { $0 + (entries[key(question, $1)]?.hits ?? 0) }
    }

    mutating func takeHits(_ question: Question) -> Int {
        [false, true].reduce(0) { sum, isSystems in
            let key = self.key(question, isSystems)
            defer { entries[key]?.hits = 0 }
            return sum + (entries[key]?.hits ?? 0)
        }
    }

    mutating func awaitHit(_ question: Question, isSystems: Bool) {
        entries[key(question, isSystems)]?.isAwaited = true
    }

    mutating func rearrange(_ question: Question, _ answer: Answer, isSystems: Bool) {
        entries[key(question, isSystems)]?.answer = answer
    }

    mutating func remove(_ question: Question) {
        entries = entries.filter { $0.key.question != question }
    }

    mutating func withdraw(_ question: Question, isSystems: Bool) {
        entries[key(question, isSystems)] = nil
    }

    mutating func remove(where isLocal: (Name) -> Bool) {
        entries = entries.filter { !isLocal($0.key.question.name) }
    }

    mutating func removeAll() { entries = [:] }
}
