// Names that are refreshed although no client asks: answers from the store, and names that the operator keeps fresh.

import DNSWire

extension Resolver {
    func isPlanned(_ question: Question) -> Bool {
        routing.policy.of(question.name).prefetches || plan.isRequested(question) || plan.isKept(question)
    }

    /// Restores answers, the most asked first, because all answers that expired meanwhile are due at once.
    mutating func restore(_ answers: [RestoredAnswer], now: Instant) {
        for answer in answers.sorted(by: { $0.demandPerSecond > $1.demandPerSecond }) where isPlanned(answer.question) {
            plan.restored(answer, now: now)
        }
    }

    /// Refreshes the kept names whose answers the cache lost with the former routing: it serves another partition, or
    /// the names have other upstreams.
    mutating func refreshKept(after former: Routing, now: Instant) {
        let (routing, ranking) = (routing, state.ranking)
        let isElsewhere = former.policy.partition != routing.policy.partition
        plan.removed(now: now) { question in
            let (old, new) = (former.policy.of(question.name), routing.policy.of(question.name))
            return isElsewhere || new.mayDiffer(from: old)
                || former.place(of: question) != routing.place(of: question)
                || former.upstreams(for: question, old, ranking, now: now)
                    != routing.upstreams(for: question, new, ranking, now: now)
        }
    }
}
