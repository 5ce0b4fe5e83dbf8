// Fetches of the resolver by way of the fleet: which fetches are begun, and what follows.

import DNSWire
import Fleet
import Resolver
import Upstreams

extension ResolvingLoop {
    /// Starts a fetch, unless another member of the fleet has the answer.
    func start(
        _ id: FetchID, _ question: Question, _ upstream: Upstream, _ purpose: FetchPurpose, now: Instant
    ) {
        if upstreams.fleet.isOn, case .provider(let provider) = upstream,
            let asked = upstreams.providers.provider(provider)
        {
            let request = FleetRequest(id: id, question: question, provider: provider, purpose: purpose)
            let perSecond = inPlace { $0.demand(for: question, now: now) }
            let life = purpose.isRefresh ? answers.life(of: question, now: now) : nil
            if upstreams.fleet.begin(request, at: asked, replacing: life, perSecond: perSecond, now: now) {
                return handle(.fetchAwaitsFleet(id), now: now)
            }
        }
        upstreams.start(id, question, upstream, purpose, now: now)
    }

    /// - Parameter request: the request that the outcome is about.
    func carryOut(_ outcome: Membership.Outcome, _ request: FleetRequest?, now: Instant) {
        switch (outcome, request) {
        case (.ask, let request?): if upstreams.fleet.isOpen(request.id) { ask(request, now: now) }
        case (.answered(_, let answer), let request?), (.late(_, let answer), let request?):
            handle(.fetchShared(request.id, answer), now: now)
        case (.deferred(_, let end), let request?): handle(.fetchDeferred(request.id, until: end), now: now)
        case (.demandElsewhere(let question, let perSecond), _):
            handle(.demandElsewhere(question, perSecond: perSecond), now: now)
        case (.evidence(let evidence), _): handle(.evidence(evidence.name, evidence.address), now: now)
        case (.flush(let scope), _): _ = flush(scope, now: now)
        case (.note(let note, let text), _): store?.note(note.rawValue, text, now: now)
        case (.ask, nil), (.answered, nil), (.late, nil), (.deferred, nil), (.flushOrdered, _): break
        case (.billed, _): outbox.changed(.billedSums)
        }
    }

    private func ask(_ request: FleetRequest, now: Instant) {
        handle(.fetchSent(request.id), now: now)
        upstreams.start(request.id, request.question, .provider(request.provider), request.purpose, now: now)
    }

    /// Shares what providers have answered.
    func share(now: Instant) {
        for event in upstreams.fleet.takeUnshared() {
            switch event {
            case .fetchFinished(let id, let result): share(result, of: id, now: now)
            case .volunteered(let question, let answer, let id):
                if let provider = upstreams.providers.provider(id),
                    let answer = inPlace({ $0.shareable(question, answer, from: id) })
                {
                    upstreams.fleet.volunteered(question, answer, by: provider, now: now)
                }
            default: break
            }
        }
    }

    private func share(_ result: FetchResult, of id: FetchID, now: Instant) {
        guard let request = upstreams.fleet.request(id) else { return }
        if case .success(let answer) = result {
            let shareable = inPlace { $0.shareable(request.question, answer, from: request.provider) }
            upstreams.fleet.heard(id, shareable.map { .answer($0) } ?? .unshareable, now: now)
        } else {
            upstreams.fleet.heard(id, .failed, now: now)
        }
    }
}
