// The slow path's mind: which upstream to ask for what, when to ask another, what to keep and what to tell whom.
// A value without clock, socket, thread or randomness of its own: the same events give the same actions.

import DNSWire

package struct Resolver {
    private var around = Lookup.Surroundings()
    private var providers: [ProviderTraits] = []
    private var hasSystem = false
    private var hosts = HostsTable.empty
    private var lookups: [UInt64: Lookup] = [:]
    private var numberOfQuestion: [Question: UInt64] = [:]
    private var lookupOfFetch: [FetchID: UInt64] = [:]
    private var nextLookup: UInt64 = 0
    private var deadlines = DeadlineQueue()

    package init() {}

    package var lookupsInFlight: Int { lookups.count }

    /// When `timePassed` is due; nil when nothing waits for time.
    package var nextDeadline: Instant? { deadlines.earliest }

    package mutating func handle(_ event: Event, now: Instant, actions: inout [Action]) {
        switch event {
        case .asked(let question, let waiter): asked(question, waiter, now: now)
        case .fetchFinished(let id, let result): fetchFinished(id, result, now: now)
        case .upstreamsChanged(let providers, let hasSystem):
            self.providers = providers
            self.hasSystem = hasSystem
            around.ranking.setProviders(providers)
        case .policyChanged(let policy): around.policy = policy
        case .hostsChanged(let hosts): self.hosts = hosts
        case .timePassed: timePassed(now: now)
        }
        actions += around.actions
        around.actions.removeAll(keepingCapacity: true)
    }

    // MARK: events

    private mutating func asked(_ question: Question, _ waiter: Waiter, now: Instant) {
        let route = LocalNames.route(question, hosts)
        if case .here(let answer) = route {
            around.actions.append(.reply(waiter, answer, .local))
        } else if let number = numberOfQuestion[question] {
            change(number) { $0.join(waiter, &$1) }
        } else if lookups.count < Bounds.maxLookups {
            let providers = route == .anywhere ? around.ranking.order(for: question.type, now: now) : []
            let number = nextLookup
            nextLookup += 1
            numberOfQuestion[question] = number
            lookups[number] = Lookup(
                question, providers: providers, inTrouble: providers.allSatisfy { around.ranking.isBackedOff($0, now) },
                hasSystem: hasSystem, now: now)
            change(number) { lookup, around in
                lookup.join(waiter, &around)
                lookup.start(now: now, &around)
            }
        } else {
            around.actions.append(.fail(waiter, .notReady))
        }
    }

    private mutating func fetchFinished(_ id: FetchID, _ result: Result<Answer, FetchFailure>, now: Instant) {
        guard let number = lookupOfFetch[id] else { return }
        change(number) { $0.fetchFinished(id, result, now: now, &$1) }
    }

    private mutating func timePassed(now: Instant) {
        while let number = deadlines.popDue(now) {
            change(number) { $0.timePassed(now: now, &$1) }
        }
    }

    // MARK: tables

    /// The one place where a lookup changes, so that fetches, questions and deadlines always agree with it.
    private mutating func change(_ number: UInt64, _ body: (inout Lookup, inout Lookup.Surroundings) -> Void) {
        guard var lookup = lookups.removeValue(forKey: number) else { return }
        body(&lookup, &around)
        for id in around.begun { lookupOfFetch[id] = number }
        for id in around.ended { lookupOfFetch[id] = nil }
        around.begun.removeAll(keepingCapacity: true)
        around.ended.removeAll(keepingCapacity: true)
        if lookup.isFinished {
            numberOfQuestion[lookup.question] = nil
            deadlines.remove(number)
        } else {
            deadlines.set(lookup.nextDeadline, for: number)
            lookups[number] = lookup
        }
    }
}
