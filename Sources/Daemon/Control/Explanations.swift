// Gathers the state of a question in cache and resolver for `explain`. Read-only: it counts no hit and triggers no
// lookup.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving

struct Explanations {
    let resolver: Resolver
    let answers: CachedAnswers
    let serving: ServingState
    let now: Instant
    let nameOfSource: (Source) -> String

    func report(of question: Question) -> ExplainReport {
        let limits = resolver.limits(for: question)
        let found = answers.entries(of: question)
        let known = resolver.explanation(of: question, answers, now: now)
        let given = found.first { freshness($0, limits).isGivenAtOnce }
        let words = ExplainPhrases(known, now: now, nameOfSource: nameOfSource)
        let partition = Int(serving.partition(for: question.clients).rawValue)
        var report = words.outline(.running(partition: partition, order: words.orderInForce))
        report.portal = resolver.portal.map { portal in
            "is suspected, for at most \(seconds(until: portal.until)) s more: sign in to the network"
        }
        report.entries = found.map { entry($0, known, limits) }
        let reference = (given ?? found.first).flatMap { $0.sourceAnswer(among: known.answers) } ?? known.answers.last
        report.sources = sourceAnswers(
            known, reference: reference, kept: found.compactMap { $0.sourceAnswer(among: known.answers) })
        report.addresses = known.addresses.map { AddressReport($0, now: now, nameOfSource: nameOfSource) }
        report.expired = words.expired(found.first.map { freshness($0, limits) }, found.first?.answer)
        report.failure = known.failure.map {
            ExplainReport.Failure(reason: $0.reason.text, leftSeconds: seconds(until: $0.until))
        }
        report.lastSubstitute = known.lastSubstitute.map { "\($0.reason.rawValue), \(seconds(since: $0.at)) s ago" }
        report.doubt = words.doubt
        report.refresh = words.refresh
        report.next =
            LocalPolicy(question, serving).map { [ExplainPhrases.next($0)] }
            ?? words.next(
                givenNow: given.map { freshness($0, limits) }, refreshWasAsked: given?.refreshWasAsked ?? false)
        return report
    }

    // MARK: parts

    private func age(_ entry: CachedEntry) -> Int64 {
        max(0, Clock.millisecondsSinceBoot(now) - entry.storedAtMilliseconds)
    }

    private func freshness(_ entry: CachedEntry, _ limits: Freshness.Limits) -> Freshness {
        Freshness(
            ageMilliseconds: age(entry), lifetimeSeconds: entry.lifetimeSeconds,
            isNegative: entry.answer.isNegative, limits: limits)
    }

    private func entry(_ found: CachedEntry, _ known: Explanation, _ limits: Freshness.Limits) -> ExplainReport.Entry {
        var entry = ExplainReport.Entry(
            state: ExplainReport.Entry.State(freshness(found, limits)), rcode: found.answer.responseCode.description,
            provenance: "\(found.sourceClass)")
        if found.answer.isNegative {
            // The SOA record is not shown: the entry's lifetime already tells for how long.
            if found.answer.responseCode == .noError { entry.rcode += ", no data" }
        } else {
            entry.records = found.records.map { CacheEntryReport.Record($0, ageSeconds: 0).data }
        }
        entry.ageSeconds = Int(age(found) / 1000)
        entry.lifetimeSeconds = Int(found.lifetimeSeconds)
        entry.hits = Int(found.hits)
        if let given = found.sourceAnswer(among: known.answers) {
            entry.source = nameOfSource(given.source)
            entry.serverTTLSeconds = Int(given.ttlSeconds)
        }
        return entry
    }

    /// Returns the sources' answers and failures, the latest first.
    private func sourceAnswers(
        _ known: Explanation, reference: SourceAnswer?, kept: [SourceAnswer]
    ) -> [ExplainReport.SourceAnswer] {
        let answers = known.answers.map { given in
            var answer = ExplainReport.SourceAnswer(
                source: nameOfSource(given.source), ageSeconds: seconds(since: given.answeredAt))
            answer.milliseconds = given.took?.wholeMilliseconds
            answer.ttlSeconds = Int(given.ttlSeconds)
            answer.negative = given.kind.negation
            answer.addresses = given.allAddresses.map(\.description)
            answer.filtered = given.filtered.map(\.description)
            answer.block = given.block
            answer.contradiction = given.contradiction?.description
            answer.isKept = kept.contains(given)
            if let reference, reference != given, !given.allAddresses.isEmpty {
                answer.agrees = Set(reference.allAddresses) == Set(given.allAddresses)
            }
            return (given.answeredAt, answer)
        }
        let failures = known.failures.map { failure in
            var answer = ExplainReport.SourceAnswer(
                source: nameOfSource(failure.source), ageSeconds: seconds(since: failure.failedAt))
            answer.failure = failure.cause.words
            return (failure.failedAt, answer)
        }
        return (answers.reversed() + failures.reversed()).sorted { $0.0 > $1.0 }.map(\.1)
    }

    private func seconds(since instant: Instant) -> Int { max(0, Int(instant.duration(to: now).wholeSeconds)) }

    private func seconds(until instant: Instant) -> Int { max(0, Int(now.duration(to: instant).wholeSeconds)) }
}

extension ExplainReport.Entry.State {
    fileprivate init(_ freshness: Freshness) {
        self =
            switch freshness {
            case .fresh: .fresh
            case .due: .due
            case .stale: .expired
            case .gone: .gone
            }
    }
}

extension Answer.Kind {
    /// The kind of negative answer; nil for records.
    fileprivate var negation: String? {
        switch self {
        case .records: nil
        case .noData: "no data"
        case .noSuchName: "no such name"
        case .ambiguousEmpty: "an empty answer that may mean no data or no such name"
        }
    }
}

extension SourceFailure.Cause {
    var words: String {
        switch self {
        case .fetch(let failure): failure.rawValue
        case .notServed: "does not serve the name"
        case .name(let failure):
            "\(failure.responseCode)\(failure.extendedError.map { ", \($0.words)" } ?? "")"
        }
    }
}

extension CachedEntry {
    /// Returns the source answer that this entry was stored from; nil if it was forgotten or precedes this process.
    func sourceAnswer(among answers: [SourceAnswer]) -> SourceAnswer? {
        answers.last { answer in
            guard answer.source.sourceClass == sourceClass, let keptAt = answer.keptAt else { return false }
            return Clock.millisecondsSinceBoot(keptAt) == storedAtMilliseconds
        }
    }
}
