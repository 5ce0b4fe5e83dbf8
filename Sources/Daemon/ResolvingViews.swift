// Read-only views of the resolver's state for reports.

import Control
import DNSWire
import LinuxIO
import Resolver
import Telemetry

extension ResolvingLoop {
    /// Sum over all threads.
    func counts(with serving: Tally) -> Tally {
        var sum = serving
        sum += streams.tally
        sum += tally
        return sum
    }

    /// Returns the number of open questions: in transit from a serving thread, or waiting.
    func questionsOpen(with serving: Tally) -> Int {
        Int(counts(with: serving)[.handedOver] - questionsTaken) + clientsWaiting
    }

    var refreshes: RefreshCounts { resolver.refreshes }

    var displacedLookups: UInt64 { resolver.displacedLookups }

    func estimate(of provider: ProviderID, now: Instant) -> ProviderEstimate? {
        resolver.estimate(of: provider, now: now)
    }

    func shadowCounts(of provider: ProviderID) -> ShadowCounts { resolver.shadowCounts(of: provider) }

    func privateAnswers(from provider: ProviderID) -> UInt64 { resolver.privateAnswers(from: provider) }

    func standIns(for reason: StandInReason) -> UInt64 { resolver.standIns(for: reason) }

    func state(of provider: Provider, now: Instant) -> ProviderState {
        resolver.state(of: provider.id, now: now) ?? .unmeasured
    }

    func judged(_ name: Name) -> [JudgedAddress] { resolver.judged(name) }

    var judgedNames: [Name] { resolver.judgedNames }

    var probeCounts: ProbeCounts { resolver.probeCounts }

    func systemTrust(now: Instant) -> Double { resolver.systemTrust(now: now) }

    /// Nil while no portal is suspected.
    var portal: PortalState? { resolver.portal }

    func hottest(atMost count: Int, now: Instant) -> [AskedQuestion] {
        resolver.hottest(atMost: count, hits: answers.uncountedHits, now: now)
    }

    /// Returns the explanation of the present answer to a question.
    func explanation(of question: Question, now: Instant) -> ExplainReport {
        let explanations = Explanations(
            resolver: resolver, answers: answers, view: view, now: now, nameOfSource: name(of:))
        var report = explanations.report(of: question)
        let (records, bootedAt) = (recorder.records, Clock.bootMicrosecondsSince1970())
        report.lately = records.latest(ExplainReport.maxLately, about: question.name).map { event in
            FlightEventReport(event, bootMicroseconds: bootedAt, showsClients: false) { records.words[$0] }.fact
        }
        return report
    }

    /// Returns the same explanation as separate lines.
    func sentences(about question: Question, now: Instant) -> [String] {
        explanation(of: question, now: now).sentences
    }

    /// Returns the running lookups, the oldest first.
    func inflight(now: Instant) -> InflightReport {
        let views = resolver.lookupViews
        var report = InflightReport(total: views.count)
        report.lookups = views.prefix(InflightReport.maxShown).map { view in
            InflightReport.Lookup(
                name: view.question.name.description, type: view.question.type.description,
                ageMilliseconds: view.startedAt.duration(to: now).wholeMilliseconds, waiters: view.waiters,
                isRefresh: view.isRefresh,
                fetches: view.running.map { fetch in
                    InflightReport.Fetch(
                        upstream: name(of: Source(fetch.upstream)),
                        ageMilliseconds: fetch.at.duration(to: now).wholeMilliseconds)
                })
        }
        return report
    }
}
