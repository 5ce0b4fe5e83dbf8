// The resolver's hands in the cache: its questions and answers become look-ups and entries under the network in use.
// Decides nothing; whoever drives a resolver, a loop or a simulation, goes through here.

import AnswerCache
import DNSWire
import LinuxIO
import Resolver

struct CachedAnswers {
    private let cache: AnswerCache
    private let partition: Partition
    private var lastRendered: (question: Question, answer: Answer, rendered: RenderedAnswer)?

    init(_ cache: AnswerCache, partition: Partition) {
        self.cache = cache
        self.partition = partition
    }

    /// What is left of an answer that has expired.
    func expired(_ question: Question, now: Instant) -> AgedAnswer? {
        cache.expired(question, partition: partition, nowMilliseconds: Clock.millisecondsSinceBoot(now))
    }

    func hits(_ questions: [Question]) -> Event {
        .hitsCounted(questions.map { ($0, cache.takeHits($0, partition: partition)) })
    }

    /// What the daemon knows by itself is not kept.
    mutating func store(_ question: Question, _ answer: Answer, _ source: Source, now: Instant) {
        let provenance: Provenance
        switch source {
        case .provider: provenance = .provider
        case .system: provenance = .system
        case .local, .fallback: return
        }
        cache.store(
            rendered(answer, question), lifetimeSeconds: answer.ttlSeconds, for: question, partition: partition,
            provenance: provenance, nowMilliseconds: Clock.millisecondsSinceBoot(now))
    }

    /// A burst of clients with one question shares one rendering.
    mutating func rendered(_ answer: Answer, _ question: Question) -> RenderedAnswer {
        if let last = lastRendered, last.question == question, last.answer == answer { return last.rendered }
        let rendered = RenderedAnswer(answer, to: question)
        lastRendered = (question, answer, rendered)
        return rendered
    }
}
