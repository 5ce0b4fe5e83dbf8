// The resolver's hands in the cache: its questions and answers become look-ups and entries under the network in use.
// Decides nothing; whoever drives a resolver, a loop or a simulation, goes through here.

import AnswerCache
import DNSWire
import LinuxIO
import Resolver
import Store

struct CachedAnswers {
    private let cache: AnswerCache
    private let view: ServingView
    /// The networks that were in use before, the latest first.
    var otherNetworks: [Partition] = []
    private var lastRendered: (question: Question, answer: Answer, rendered: RenderedAnswer)?

    init(_ cache: AnswerCache, _ view: ServingView) {
        self.cache = cache
        self.view = view
    }

    /// What is left of an answer that has expired, and not too long ago; else what another network knows.
    func expired(_ question: Question, within limits: Freshness.Limits, now: Instant) -> AgedAnswer? {
        let nowMilliseconds = Clock.millisecondsSinceBoot(now)
        let here = cache.expired(
            question, within: limits, partition: view.partition(for: question.subnet),
            nowMilliseconds: nowMilliseconds)
        return here
            ?? cache.lastResort(
                question, within: limits,
                partitions: otherNetworks.map { view.partition(for: question.subnet, of: $0) },
                nowMilliseconds: nowMilliseconds)
    }

    /// Of the network in use, fresh or not; what is given goes before what is not, if both are fresh.
    func entries(of question: Question) -> [CachedEntry] {
        cache.entries(of: question, partition: view.partition(for: question.subnet))
    }

    func hits(_ questions: [Question]) -> Event {
        .hitsCounted(questions.map { ($0, cache.takeHits($0, partition: view.partition(for: $0.subnet))) })
    }

    /// Hits that are not counted yet, for one who only looks.
    func uncountedHits(_ question: Question) -> Int {
        cache.hits(question, partition: view.partition(for: question.subnet))
    }

    mutating func store(_ question: Question, _ answer: Answer, _ provenance: Provenance, now: Instant) {
        cache.store(
            rendered(answer, question), lifetimeSeconds: answer.ttlSeconds, for: question,
            partition: view.partition(for: question.subnet), provenance: provenance,
            nowMilliseconds: Clock.millisecondsSinceBoot(now))
    }

    /// `FastPath` says when the entry is given the next time.
    func awaitHit(_ question: Question, _ provenance: Provenance) {
        cache.awaitHit(question, partition: view.partition(for: question.subnet), provenance: provenance)
    }

    /// - Returns: when the entry was stored, and for how long; nil if there is none now.
    mutating func rearrange(_ question: Question, _ answer: Answer, _ provenance: Provenance) -> KeptTimes? {
        cache.rearrange(
            rendered(answer, question), for: question, partition: view.partition(for: question.subnet),
            provenance: provenance)
    }

    /// Of the network in use.
    func remove(_ question: Question) { for provenance in Provenance.allCases { remove(question, provenance) } }

    func remove(_ question: Question, _ provenance: Provenance) {
        cache.remove(question, partition: view.partition(for: question.subnet), provenance: provenance)
    }

    /// Of every network: they are asked anew at little cost.
    func remove(_ names: (Name) -> Bool) { _ = cache.remove { name, _ in names(name) } }

    /// The same answer for the store; nil for one that a single subnet's clients get: it is for this process only.
    ///
    /// - Parameters:
    ///   - lifetimeSeconds: from when it was stored.
    ///   - demand: questions per second.
    ///   - storedAtMilliseconds: since 1970.
    mutating func entry(
        _ question: Question, _ answer: Answer, _ provenance: Provenance, lifetimeSeconds: UInt32, demand: Double,
        storedAtMilliseconds: Int64
    ) -> StoredEntry? {
        guard question.subnet == .none else { return nil }
        return StoredEntry(
            question: question, partition: view.partition(for: .none).rawValue,
            provenance: StoredEntry.Provenance(provenance),
            answer: rendered(answer, question), storedAtMilliseconds: storedAtMilliseconds,
            lifetimeSeconds: lifetimeSeconds, demand: demand)
    }

    /// A burst of clients with one question shares one rendering.
    mutating func rendered(_ answer: Answer, _ question: Question) -> RenderedAnswer {
        if let last = lastRendered, last.question == question, last.answer == answer { return last.rendered }
        let rendered = RenderedAnswer(answer, to: question)
        lastRendered = (question, answer, rendered)
        return rendered
    }
}

extension Source {
    /// Nil for what the daemon knows by itself: it is not kept.
    var provenance: Provenance? {
        switch self {
        case .provider: .provider
        case .system: .system
        case .local, .fallback: nil
        }
    }
}

extension StoredEntry.Provenance {
    fileprivate init(_ provenance: Provenance) {
        switch provenance {
        case .provider: self = .provider
        case .system: self = .system
        }
    }
}
