// Judges each answer of the system resolver in the providers' place, with its own records of the providers: every
// provider must be unreachable, or fail for every name. There is no other valid reason.

import DNSWire

@testable import Resolver

struct SubstituteJudge {
    /// The outcome of a request to a provider.
    private enum Outcome {
        /// The provider did not reply.
        case lost
        /// The provider replied with an error that any name may get.
        case failed
        /// The provider replied about the name, or a bound of the daemon's own applied. Neither allows a substitute.
        case forbids

        init(_ result: FetchResult) {
            switch result {
            case .success, .notServed, .failure(.overload): self = .forbids
            case .omitted: self = .failed
            case .nameFailed(let failure):
                let hasReason = failure.extendedError != nil || failure.responseCode != .serverFailure
                self = hasReason ? .forbids : .failed
            case .failure(let failure):
                switch failure {
                case .refused, .unreachable, .timeout, .unacknowledged, .tls, .reset: self = .lost
                default: self = .failed
                }
            }
        }
    }

    private struct Request {
        let question: Question
        let provider: Int
        /// The time at which it was sent; nil while it waits for a place.
        var sentAt: Instant?
    }

    private struct Provider {
        var heardAt: Instant?
        var lostAt: Instant?
        /// The names that have failed since the last reply about a name.
        var failedNames: Set<Name> = []
        var failedDomains: Set<Name> = []
        var failsSince: Instant?

        var isLost: Bool { lostAt.map { lost in heardAt.map { $0 <= lost } ?? true } ?? false }

        func wasHeard(since instant: Instant) -> Bool { heardAt.map { $0 > instant } ?? false }

        /// Whether eight names of five registrable domains have failed over at least two seconds.
        func failsForAll(_ now: Instant) -> Bool {
            failedNames.count >= 8 && failedDomains.count >= 5
                && failsSince.map { now - $0 >= .seconds(2) } ?? false
        }
    }

    private var providers: [Provider]
    private var requests: [FetchID: Request] = [:]
    /// The ended requests by question; `since` is the begin of the silence that lost a request.
    private var ended: [Question: [(provider: Int, outcome: Outcome, since: Instant, at: Instant)]] = [:]

    /// The time within which a lookup ends.
    private static let longestLookup: Duration = .seconds(5)
    private static let silence: Duration = .milliseconds(500)

    init(providers count: Int) { providers = Array(repeating: Provider(), count: count) }

    mutating func asked(_ id: FetchID, _ question: Question, _ provider: Int, now: Instant) {
        requests[id] = Request(question: question, provider: provider, sentAt: now)
    }

    mutating func waits(_ id: FetchID) { requests[id]?.sentAt = nil }

    mutating func sent(_ id: FetchID, now: Instant) { requests[id]?.sentAt = now }

    /// Drops the requests in flight and all outcomes, which do not concern the new network.
    mutating func networkChanges() { (requests, ended) = ([:], [:]) }

    /// Records that the resolver gave the request up.
    mutating func abandoned(_ id: FetchID, now: Instant) {
        guard let request = requests.removeValue(forKey: id), let sentAt = request.sentAt else { return }
        note(request, .lost, since: sentAt, now)
    }

    mutating func finished(_ id: FetchID, _ result: FetchResult, now: Instant) {
        guard let request = requests.removeValue(forKey: id), let sentAt = request.sentAt else { return }
        let outcome = Outcome(result)
        let isSilence = result == .failure(.timeout) || result == .failure(.unacknowledged)
        note(request, outcome, since: isSilence ? sentAt : now, now)
        var provider = providers[request.provider]
        switch outcome {
        case .lost: provider.lostAt = now
        case .failed:
            provider.heardAt = now
            provider.failsSince = provider.failsSince ?? now
            provider.failedNames.insert(request.question.name)
            provider.failedDomains.insert(request.question.name.last(2))
        case .forbids:
            provider = Provider(heardAt: now, lostAt: provider.lostAt)
        }
        providers[request.provider] = provider
    }

    private mutating func note(_ request: Request, _ outcome: Outcome, since: Instant, _ now: Instant) {
        let recent = ended[request.question, default: []].filter { now - $0.at <= SubstituteJudge.longestLookup }
        ended[request.question] = recent + [(request.provider, outcome, since, now)]
    }

    /// Whether requests for names of two domains, or for two names of this name's domain, are unanswered since the
    /// provider's last reply.
    func isSilent(_ number: Int, for name: Name, now: Instant) -> Bool {
        let provider = providers[number]
        let isInVain = { (since: Instant, end: Instant) in
            end - since >= SubstituteJudge.silence && !provider.wasHeard(since: since)
        }
        var names: Set<Name> = []
        for request in requests.values where request.provider == number {
            if let sentAt = request.sentAt, isInVain(sentAt, now) { names.insert(request.question.name) }
        }
        for (question, ends) in ended {
            let isLost = ends.contains { $0.provider == number && $0.outcome == .lost && isInVain($0.since, $0.at) }
            if isLost { names.insert(question.name) }
        }
        return Set(names.map { $0.last(2) }).count >= 2 || names.count { $0.last(2) == name.last(2) } >= 2
    }

    /// - Parameter askedAt: the time of the client's question.
    /// - Returns: the reason of the objection; nil: the answer is justified.
    func complaint(_ question: Question, askedAt: Instant, now: Instant) -> String? {
        for number in providers.indices {
            if let complaint = complaint(question, number, askedAt, now) { return "provider \(number) \(complaint)" }
        }
        return nil
    }

    private func complaint(_ question: Question, _ number: Int, _ askedAt: Instant, _ now: Instant) -> String? {
        let provider = providers[number]
        guard !provider.isLost, !isSilent(number, for: question.name, now: now) else { return nil }
        let ends = ended[question, default: []].filter { $0.provider == number }
        let recent = ends.filter { $0.at >= askedAt }
        guard !recent.contains(where: { $0.outcome == .forbids }) else { return "has replied about the name" }
        if recent.contains(where: { $0.outcome == .failed }) {
            guard provider.failsForAll(now) else { return "has failed for this name, and not for all" }
        } else if recent.contains(where: { provider.wasHeard(since: $0.since) }) {
            return "has replied since the request that it lost"
        }
        var wasAsked = ends.contains { now - $0.at <= SubstituteJudge.longestLookup }
        for request in requests.values where request.question == question && request.provider == number {
            wasAsked = true
            guard let sentAt = request.sentAt else { return "has no place for the request yet" }
            guard !provider.wasHeard(since: sentAt) else { return "has replied to others since it was asked" }
            guard now - sentAt >= SubstituteJudge.silence else { return "has been silent for a moment only" }
        }
        return wasAsked ? nil : "was not asked"
    }
}
