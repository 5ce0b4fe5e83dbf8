// Requests to providers that other members may have made already. Before a request, one call asks Redis; the request is
// made if no other member has its answer or is getting it. Decides; sends nothing.
//
//     begun ── call ──┬── an answer ────────────────────────────────────────────> ended: the answer
//                     ├── our lease ────────────────────────────────────────────> asking ──> ended: published
//                     ├── the budget of the fleet is used up ───────────────────> ended: deferred
//                     ├── another's lease ──> waiting ──┬── its answer ─────────> ended: the answer
//                     │                                 ├── it gave up ──> call
//                     │                                 ├── its answer is of no use for others ──> alone
//                     │                                 ├── the lease ends ──> call, once
//                     │                                 └── the second one ends ──┐
//                     └── no reply in time ───────────────────────────────────────┴──> alone: asking, or deferred

package import DNSWire

package struct SharedFetches: Sendable {
    /// The caller's number of a request.
    package typealias ID = UInt64

    package struct Terms: Equatable, Sendable {
        /// The entry's names, as in `FleetKeys.entries`; none: the answer is not shared, and only the pace of the
        /// provider counts.
        package let entries: [String]
        /// `FleetScript.lease`.
        package let lease: Duration
        /// An answer with less life left is not used: a refresh wants one that lives longer than its own.
        package let leastLife: Duration
        /// How long it waits for others in all: the provider still has to be asked in time.
        package let patience: Duration

        package init(entries: [String], lease: Duration, leastLife: Duration, patience: Duration) {
            (self.entries, self.lease, self.leastLife, self.patience) = (entries, lease, leastLife, patience)
        }

        /// For writing; nil: the answer is not shared.
        package var entry: String? { entries.first }

        fileprivate var hasLease: Bool { entry != nil && lease > .zero }
    }

    package enum Reply: Equatable, Sendable {
        /// A value that is authentic.
        case answer(SharedAnswer, left: Duration)
        /// This member has the lease, and may ask after this time.
        case ours(after: Duration)
        /// The budget of the fleet is used up for this time.
        case deferred(Duration)
        /// Another member has it for this time.
        case theirs(left: Duration)
        /// Redis refused the call, or its value was not authentic.
        case invalid
    }

    package enum Step: Equatable, Sendable {
        /// Run `FleetScript.lease`, or `pace` for an answer that is not shared, and report `replied`.
        case call(ID)
        /// Make the request, and report `ended`.
        case ask(ID)
        /// The same without the consent of Redis: the caller may `delay` or `deferred` it.
        case askAlone(ID)
        /// The budget of the fleet is used up for this time. The request has ended, and is not made.
        case deferRequest(ID, for: Duration)
        /// Another member's answer, and how long it lives. The request has ended.
        case give(ID, SharedAnswer, left: Duration)
        /// The answer came after its request had been made: it is good for the cache.
        case late(ID, SharedAnswer, left: Duration)
    }

    package struct Counts: Equatable, Sendable {
        /// Requests that were not made, because another member had the answer.
        package var answers: UInt64 = 0
        /// Requests that were not made, because another member was asking.
        package var awaited: UInt64 = 0
        /// Requests made whose answer may be shared.
        package var made: UInt64 = 0
        /// Those of them that were made with a lease.
        package var leases: UInt64 = 0
        /// Waits for another member's answer that took too long.
        package var endedLeases: UInt64 = 0
        /// Calls without a reply in time.
        package var timeouts: UInt64 = 0
        /// Calls that Redis refused, and values that were not authentic.
        package var invalid: UInt64 = 0
        /// Requests not made, as the budget of the fleet was used up.
        package var deferred: UInt64 = 0
        /// Requests that began while Redis was not used, also if they were deferred then.
        package var alone: UInt64 = 0

        package init() {}
    }

    private enum Phase {
        /// - Parameter leases: of other members, which it has waited for.
        case calling(leases: Int)
        /// For another member's lease, the `leases`-th. A call may run meanwhile; its reply counts unless it is
        /// `theirs`.
        case waiting(leases: Int)
        case asking(isCallOpen: Bool)
    }

    private struct Fetch {
        let terms: Terms
        /// Its number among the deadlines.
        let slot: Int
        let beganAt: Instant
        var phase: Phase
    }

    /// A request waits for two other members at most.
    private static let maxLeases = 2
    /// So that a lease has ended in Redis when it has ended here.
    private static let lateness: Duration = .milliseconds(2)

    /// How long a call may take before the provider is asked.
    package var readTimeout: Duration
    private var fetches: [ID: Fetch] = [:]
    /// Those that wait, by entry.
    private var waiting: [String: [ID]] = [:]
    private var deadlines = DeadlineQueue()
    /// By number among the deadlines.
    private var slots: [ID] = []
    private var freeSlots: [Int] = []
    private(set) package var counts = Counts()

    package init(readTimeout: Duration) { self.readTimeout = readTimeout }

    package var nextDeadline: Instant? { deadlines.earliest }

    /// - Parameter isInUse: as in `CircuitBreaker`.
    package mutating func begin(_ id: ID, _ terms: Terms, isInUse: Bool, now: Instant) -> Step {
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(id) } else { slots[slot] = id }
        guard isInUse else {
            counts.alone += 1
            fetches[id] = Fetch(terms: terms, slot: slot, beganAt: now, phase: .asking(isCallOpen: false))
            countMade(id)
            return .askAlone(id)
        }
        fetches[id] = Fetch(terms: terms, slot: slot, beganAt: now, phase: .calling(leases: 0))
        deadlines.set(now + readTimeout, for: slot)
        return .call(id)
    }

    /// One of the requests that wait for the entry.
    package func waiting(for entry: String) -> ID? { waiting[entry]?.first }

    package func terms(of id: ID) -> Terms? { fetches[id]?.terms }

    package mutating func replied(_ id: ID, _ reply: Reply, now: Instant) -> [Step] {
        guard let fetch = fetches[id] else { return [] }
        switch (fetch.phase, reply) {
        case (.calling(leases: 0), .answer(let answer, let left)):
            counts.answers += 1
            end(id)
            return [.give(id, answer, left: left)]
        case (.calling, .answer(let answer, let left)), (.waiting, .answer(let answer, let left)):
            counts.awaited += 1
            end(id)
            return [.give(id, answer, left: left)]
        case (.calling, .ours(let wait)), (.waiting, .ours(let wait)):
            if fetch.terms.hasLease { counts.leases += 1 }
            let step = ask(id)
            guard wait > .zero else { return [step] }
            delay(id, until: now + wait)
            return []
        case (.calling, .deferred(let wait)), (.waiting, .deferred(let wait)):
            deferred(id)
            return [.deferRequest(id, for: wait)]
        case (.calling(let leases), .theirs(let left)):
            // At most for a lease, whatever Redis says.
            let end = now + min(max(left, .zero), fetch.terms.lease) + SharedFetches.lateness
            wait(id, until: min(end, fetch.beganAt + fetch.terms.patience), leases: leases + 1)
            return []
        case (.calling, .invalid), (.waiting, .invalid):
            counts.invalid += 1
            return [askAlone(id)]
        case (.asking(true), _):
            fetches[id]?.phase = .asking(isCallOpen: false)
            switch reply {
            case .answer(let answer, let left): return [.late(id, answer, left: left)]
            case .ours: if fetch.terms.hasLease { counts.leases += 1 }
            case .theirs, .deferred: break
            case .invalid: counts.invalid += 1
            }
            return []
        case (.asking(false), _), (.waiting, .theirs): return []
        }
    }

    /// Another member has published the entry's answer.
    package mutating func published(_ entry: String, _ answer: SharedAnswer, left: Duration) -> [Step] {
        let awaiting = waiting[entry] ?? []
        counts.awaited += UInt64(awaiting.count)
        for id in awaiting { end(id) }
        return awaiting.map { .give($0, answer, left: left) }
    }

    /// The member with the lease got no answer, or none that others can use.
    ///
    /// - Parameter asksAtOnce: each has to ask. Otherwise the next call gets the lease.
    package mutating func released(_ entry: String, asksAtOnce: Bool) -> [Step] {
        (waiting[entry] ?? []).map { asksAtOnce ? askAlone($0) : .call($0) }
    }

    /// Redis is not used any more: no request waits for it.
    package mutating func switchedOff() -> [Step] {
        // The copy is read while each step changes the original.
        let all = fetches.sorted { $0.key < $1.key }
        return all.compactMap { id, fetch in
            switch fetch.phase {
            case .calling: askAlone(id, isCallOpen: true)
            case .waiting: askAlone(id)
            case .asking: nil
            }
        }
    }

    /// - Returns: the steps that are due; for `CircuitBreaker`, how many calls have had no reply in time.
    package mutating func timePassed(now: Instant) -> (steps: [Step], timeouts: Int) {
        var (steps, timeouts): ([Step], Int) = ([], 0)
        while let slot = deadlines.popDue(now) {
            let id = slots[slot]
            switch fetches[id]?.phase {
            case .calling:
                timeouts += 1
                counts.timeouts += 1
                steps.append(askAlone(id, isCallOpen: true))
            case .waiting(let leases):
                counts.endedLeases += 1
                // Its owner has died. Of all that wait, one gets the next lease.
                let isOver = leases >= SharedFetches.maxLeases || isPatienceOver(id, now)
                steps.append(isOver ? askAlone(id) : callAgain(id, leases: leases, now: now))
            case .asking: steps.append(.ask(id))
            case nil: continue
            }
        }
        return (steps, timeouts)
    }

    /// The request is made at this time and not before.
    package mutating func delay(_ id: ID, until instant: Instant) {
        if let slot = fetches[id]?.slot { deadlines.set(instant, for: slot) }
    }

    /// This member's share of the budget is used up: the request has ended, and is not made.
    package mutating func deferred(_ id: ID) {
        counts.deferred += 1
        if isAsking(id), fetches[id]?.terms.entry != nil { counts.made -= 1 }
        end(id)
    }

    /// The request was made, or waits for its turn only.
    package func isAsking(_ id: ID) -> Bool { if case .asking = fetches[id]?.phase { true } else { false } }

    /// The provider has answered or failed, or the answer is not wanted any more.
    ///
    /// - Returns: whether the provider was being asked: the lease may be this member's.
    package mutating func ended(_ id: ID) -> Bool {
        defer { end(id) }
        return isAsking(id)
    }

    private func isPatienceOver(_ id: ID, _ now: Instant) -> Bool {
        fetches[id].map { $0.beganAt + $0.terms.patience <= now } ?? true
    }

    // MARK: phases

    private mutating func ask(_ id: ID, isCallOpen: Bool = false) -> Step {
        leave(id)
        fetches[id]?.phase = .asking(isCallOpen: isCallOpen)
        countMade(id)
        return .ask(id)
    }

    private mutating func countMade(_ id: ID) { if fetches[id]?.terms.entry != nil { counts.made += 1 } }

    private mutating func askAlone(_ id: ID, isCallOpen: Bool = false) -> Step {
        _ = ask(id, isCallOpen: isCallOpen)
        return .askAlone(id)
    }

    private mutating func callAgain(_ id: ID, leases: Int, now: Instant) -> Step {
        leave(id)
        if let slot = fetches[id]?.slot { deadlines.set(now + readTimeout, for: slot) }
        fetches[id]?.phase = .calling(leases: leases)
        return .call(id)
    }

    private mutating func wait(_ id: ID, until: Instant, leases: Int) {
        guard let fetch = fetches[id] else { return }
        fetches[id]?.phase = .waiting(leases: leases)
        deadlines.set(until, for: fetch.slot)
        waiting[fetch.terms.entry ?? "", default: []].append(id)
    }

    private mutating func end(_ id: ID) {
        leave(id)
        if let fetch = fetches.removeValue(forKey: id) { freeSlots.append(fetch.slot) }
    }

    /// Leaves the phases that have an end.
    private mutating func leave(_ id: ID) {
        guard let fetch = fetches[id] else { return }
        deadlines.remove(fetch.slot)
        guard case .waiting = fetch.phase, let entry = fetch.terms.entry else { return }
        waiting[entry]?.removeAll { $0 == id }
        if waiting[entry]?.isEmpty ?? false { waiting[entry] = nil }
    }
}
