// A plain model of the cache for the simulation: what was stored last, by question and kind of source, and how often it
// was read. Never evicts.

import DNSWire

@testable import Resolver

struct SimulatedCache {
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
    }

    private struct Entry {
        var answer: Answer
        let storedAt: Instant
        var hits = 0
        var wasDue = false
        var isAwaited = false

        func aged(_ question: Question, _ now: Instant) -> AgedAnswer {
            AgedAnswer(
                RenderedAnswer(answer, to: question),
                ageMilliseconds: Int64(storedAt.duration(to: now) / .milliseconds(1)),
                lifetimeSeconds: answer.ttlSeconds)
        }
    }

    private var entries: [Key: Entry] = [:]

    mutating func store(_ question: Question, _ answer: Answer, isSystems: Bool, now: Instant) {
        let key = Key(question: question, isSystems: isSystems)
        let hits = entries[key]?.hits ?? 0
        entries[key] = Entry(answer: answer, storedAt: now, hits: hits)
        if !isSystems { entries[Key(question: question, isSystems: true)] = nil }
    }

    mutating func ask(_ question: Question, now: Instant) -> Found {
        var expired: AgedAnswer?
        for isSystems in [false, true] {
            let key = Key(question: question, isSystems: isSystems)
            guard var entry = entries[key] else { continue }
            let aged = entry.aged(question, now)
            guard !aged.isExpired else {
                expired = expired ?? aged
                continue
            }
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
        return .none(expired: expired)
    }

    mutating func takeHits(_ question: Question) -> Int {
        [false, true].reduce(0) { sum, isSystems in
            let key = Key(question: question, isSystems: isSystems)
            defer { entries[key]?.hits = 0 }
            return sum + (entries[key]?.hits ?? 0)
        }
    }

    mutating func awaitHit(_ question: Question, isSystems: Bool) {
        entries[Key(question: question, isSystems: isSystems)]?.isAwaited = true
    }

    mutating func rearrange(_ question: Question, _ answer: Answer, isSystems: Bool) {
        entries[Key(question: question, isSystems: isSystems)]?.answer = answer
    }

    mutating func remove(_ question: Question) {
        for isSystems in [false, true] { entries[Key(question: question, isSystems: isSystems)] = nil }
    }

    mutating func removeAll() { entries = [:] }
}
