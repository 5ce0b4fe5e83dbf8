// Answers that contradict a rule's expectation: forged, so never cached nor given to clients. The next upstream is
// asked. They change nothing for other names: neither the provider's health nor the credibility of the source.

import DNSWire

/// Counts contradicting answers, and decides which ones are reported and which names ask the providers first.
struct ContradictingAnswers {
    private struct Key: Hashable {
        let question: Question
        let source: Source
    }

    private var counts: [Source: UInt64] = [:]
    /// Pauses between reports of one answer: a name in use must not fill the evidence.
    private var reported = Pauses<Key>()
    /// Names for which the system resolver gave a contradicting answer.
    private var systemForged = Pauses<Name>()

    func count(of source: Source) -> UInt64 { counts[source] ?? 0 }

    /// - Returns: whether to report it: once per question, source and `Bounds.recentAnswerAge`.
    mutating func heard(_ answer: ContradictingAnswer, now: Instant) -> Bool {
        counts[answer.source, default: 0] += 1
        if answer.source == .system {
            _ = systemForged.begin(answer.question.name, until: now + Bounds.forgedPause, now: now)
        }
        let key = Key(question: answer.question, source: answer.source)
        return reported.end(of: key, now) == nil
            && reported.begin(key, until: now + Bounds.recentAnswerAge, now: now)
    }

    /// With order `system-first`: the end of the time for which the providers are asked first; nil: they are not.
    func systemForgedUntil(_ name: Name, now: Instant) -> Instant? { systemForged.end(of: name, now) }

    mutating func keep(_ providers: [ProviderTraits]) {
        counts = counts.filter { known in
            known.key == .system || providers.contains { $0.id == known.key.ranked }
        }
    }

    /// Forgets the pauses: another network may have another system resolver.
    mutating func networkChanged() {
        reported = Pauses()
        systemForged = Pauses()
    }
}

/// Table of the ends of pauses, at most `Bounds.maxContradictions`.
private struct Pauses<Key: Hashable> {
    private var endOf: [Key: Instant] = [:]

    func end(of key: Key, _ now: Instant) -> Instant? {
        endOf.isEmpty ? nil : endOf[key].flatMap { now < $0 ? $0 : nil }
    }

    /// - Returns: false if there is no room for the pause.
    mutating func begin(_ key: Key, until end: Instant, now: Instant) -> Bool {
        if endOf[key] == nil, endOf.count >= Bounds.maxContradictions { endOf = endOf.filter { $0.value > now } }
        guard endOf[key] != nil || endOf.count < Bounds.maxContradictions else { return false }
        endOf[key] = end
        return true
    }
}
