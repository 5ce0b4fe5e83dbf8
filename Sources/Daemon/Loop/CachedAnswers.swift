// Connects the resolver to the cache: turns its questions and answers into look-ups and entries of the network in use.
// Used by every caller of a resolver, the event loop and simulations alike; makes no decisions.

import DNSWire
import LinuxIO
import Resolver
import Serving
import Store

struct CachedAnswers: KnownAnswers {
    let cache: AnswerCache
    let serving: ServingState
    /// Cache keys of the other known networks, the latest first.
    var otherNetworks: [Partition] = []
    private var lastRendered: Rendered?

    /// A rendered answer and what it was rendered from. An object, so that it is not copied.
    final class Rendered {
        let answer: RenderedAnswer
        private let question: Question
        private let original: Answer

        init(_ original: Answer, to question: Question) {
            (self.original, self.question) = (original, question)
            answer = RenderedAnswer(original, to: question)
        }

        func isFor(_ question: Question, _ answer: Answer) -> Bool { original === answer && self.question == question }
    }

    init(_ cache: AnswerCache, _ serving: ServingState) {
        self.cache = cache
        self.serving = serving
    }

    func expired(
        _ question: Question, within limits: @autoclosure () -> Freshness.Limits, now: Instant
    ) -> AgedAnswer? {
        let nowMilliseconds = Clock.millisecondsSinceBoot(now)
        let here = cache.expired(
            question, within: limits(), partition: serving.partition(for: question.clients),
            nowMilliseconds: nowMilliseconds)
        return here
            ?? cache.lastResort(
                question, within: limits(),
                partitions: otherNetworks.map { serving.partition(for: question.clients, of: $0) },
                nowMilliseconds: nowMilliseconds)
    }

    func known(_ question: Question, within limits: Freshness.Limits, now: Instant) -> AgedAnswer? {
        let nowMilliseconds = Clock.millisecondsSinceBoot(now)
        return entries(of: question).lazy.map { entry in
            AgedAnswer(
                entry.answer, ageMilliseconds: nowMilliseconds - entry.storedAtMilliseconds,
                lifetimeSeconds: entry.lifetimeSeconds, sourceRank: entry.sourceClass.rank)
        }.first { $0.freshness(limits) != .gone }
    }

    /// Returns the entries of the network in use, fresh or expired, in the order in which the cache serves fresh ones.
    func entries(of question: Question) -> [CachedEntry] {
        cache.entries(of: question, partition: serving.partition(for: question.clients))
    }

    /// How long a provider's answer is still fresh; nil: there is none.
    func life(of question: Question, now: Instant) -> Duration? {
        let entry = entries(of: question).first { $0.sourceClass == .provider }
        guard let entry else { return nil }
        let end = entry.storedAtMilliseconds + Int64(entry.lifetimeSeconds) * 1000
        return .milliseconds(max(0, end - Clock.millisecondsSinceBoot(now)))
    }

    func hits(_ question: Question) -> Int {
        cache.hits(question, partition: serving.partition(for: question.clients))
    }

    func takeHits(_ question: Question) -> Int {
        cache.takeHits(question, partition: serving.partition(for: question.clients))
    }

    mutating func store(_ question: Question, _ answer: Answer, _ sourceClass: SourceClass, now: Instant) {
        cache.store(
            rendered(answer, question).answer, lifetimeSeconds: answer.ttlSeconds, for: question,
            partition: serving.partition(for: question.clients), sourceClass: sourceClass,
            nowMilliseconds: Clock.millisecondsSinceBoot(now))
    }

    /// Marks the entry: `FastPath` reports the next reply from it.
    func awaitHit(_ question: Question, _ sourceClass: SourceClass) {
        cache.awaitHit(question, partition: serving.partition(for: question.clients), sourceClass: sourceClass)
    }

    /// Replaces the records of an entry without changing its age.
    ///
    /// - Returns: when the entry was stored, and its lifetime; nil if there is no such entry now.
    mutating func rearrange(_ question: Question, _ answer: Answer, _ sourceClass: SourceClass) -> KeptTimes? {
        cache.rearrange(
            rendered(answer, question).answer, for: question, partition: serving.partition(for: question.clients),
            sourceClass: sourceClass)
    }

    /// Removes the question's entries of the network in use, from all sources.
    func remove(_ question: Question) { for sourceClass in SourceClass.allCases { remove(question, sourceClass) } }

    func remove(_ question: Question, _ sourceClass: SourceClass) {
        cache.remove(question, partition: serving.partition(for: question.clients), sourceClass: sourceClass)
    }

    /// Returns the number of entries removed.
    func remove(_ scope: QuestionScope) -> Int { cache.remove(scope) }

    /// Removes matching names on every network, as another lookup costs little.
    func remove(_ names: (Name) -> Bool) { _ = cache.remove { name, _, _ in names(name) } }

    /// Returns the store's form of an answer; nil for an answer to a client subnet, or to a question with DO or CD:
    /// only this process keeps them.
    ///
    /// - Parameters:
    ///   - lifetimeSeconds: counted from when it was stored.
    ///   - demand: questions per second.
    ///   - storedAtMilliseconds: since 1970.
    mutating func entry(
        _ question: Question, _ answer: Answer, _ sourceClass: SourceClass, lifetimeSeconds: UInt32, demand: Double,
        storedAtMilliseconds: Int64
    ) -> StoredEntry? {
        guard question.clients == .all, question.dnssec.isEmpty else { return nil }
        return StoredEntry(
            question: question, partition: serving.partition(for: .all).rawValue,
            sourceClass: StoredEntry.SourceClass(sourceClass),
            answer: rendered(answer.withoutPreferred, question).answer, storedAtMilliseconds: storedAtMilliseconds,
            lifetimeSeconds: lifetimeSeconds, demand: demand)
    }

    /// Returns the rendered answer, reusing the last one: clients that wait for the same question share it.
    mutating func rendered(_ answer: Answer, _ question: Question) -> Rendered {
        if let last = lastRendered, last.isFor(question, answer) { return last }
        let new = Rendered(answer, to: question)
        lastRendered = new
        return new
    }
}

extension Source {
    /// The source in the cache; nil for the daemon's own answers, which are not cached.
    var sourceClass: SourceClass? {
        switch self {
        case .provider, .nameserver: .provider
        case .system: .system
        case .local, .fallback: nil
        }
    }
}

extension StoredEntry.SourceClass {
    fileprivate init(_ sourceClass: SourceClass) {
        switch sourceClass {
        case .provider: self = .provider
        case .system: self = .system
        }
    }
}
