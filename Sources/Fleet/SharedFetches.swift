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

/// How a request to a provider is shared with the other members.
package struct FetchPolicy: Equatable, Sendable {
    /// The entry's names, as in `FleetKeys.entries`; none: the answer is not shared, and only the pace of the
    /// provider counts.
    package let entries: [String]
    /// The duration of the lease, by `FleetScript.lease`.
    package let lease: Duration
    /// The least remaining life of an answer that is used: a refresh wants more than the cached answer has.
    package let leastLife: Duration
    /// How long the request waits for other members in all: the provider still has to be asked in time.
    package let patience: Duration

    /// The longest wait for a turn within the budget, which precedes the request: a member with a lease may wait
    /// for as long.
    package var turnWait = Duration.zero

    /// The entry's name for writing; nil: the answer is not shared.
    package var entry: String? { entries.first }

    fileprivate var hasLease: Bool { entry != nil && lease > .zero }
}

package struct SharedFetches: Sendable {
    /// The caller's number of a request.
    package typealias ID = UInt64

    package enum Reply: Equatable, Sendable {
        /// A value that is authentic.
        case answer(SharedAnswer, left: Duration)
        /// This member has the lease, and may ask the provider after this time.
        case ours(after: Duration)
        /// The budget of the fleet is used up; the next turn comes after this time.
        case deferred(Duration)
        /// Another member has the lease for this time.
        ///
        /// - Parameter owner: the other member's token; empty: unknown.
        case theirs(left: Duration, owner: String)
        /// Redis refused the call, or its value was not authentic.
        case invalid
    }

    package enum Step: Equatable, Sendable {
        /// Run `FleetScript.lease`, or `pace` for an answer that is not shared, and report `replied`.
        case call(ID)
        /// Make the request, and report `ended`.
        case ask(ID)
        /// Make the request without the consent of Redis; the caller may `delay` or `deferred` it.
        case askAlone(ID)
        /// The budget of the fleet is used up. The request has ended, and is not made.
        case deferRequest(ID, for: Duration)
        /// Another member's answer, and its remaining life. The request has ended.
        case give(ID, SharedAnswer, left: Duration)
        /// The answer came after its request had been made: it can be cached.
        case late(ID, SharedAnswer, left: Duration)
    }

    package struct Counts: Equatable, Sendable {
        /// Requests that were not made, because another member had the answer.
        package var answers: UInt64 = 0
        /// Requests that were not made, because another member was asking.
        package var awaited: UInt64 = 0
        /// Requests made whose answer may be shared.
        package var made: UInt64 = 0
        /// Requests of `made` that had a lease.
        package var leases: UInt64 = 0
        /// Waits for another member's answer that took too long.
        package var endedLeases: UInt64 = 0
        /// Calls without a reply in time.
        package var timeouts: UInt64 = 0
        /// Calls that Redis refused, and values that were not authentic.
        package var invalid: UInt64 = 0
        /// Requests not made, as the budget of the fleet was used up.
        package var deferred: UInt64 = 0
        /// Requests that began while Redis was not used, also those that were deferred.
        package var alone: UInt64 = 0

        package init() {}
    }

    private enum Phase {
        case calling(Call)
        /// The request waits for another member's lease, the `leases`-th. A call may run meanwhile; its reply counts
        /// unless it is `theirs`.
        case waiting(leases: Int, owner: String)
        case asking(isCallOpen: Bool)
    }

    private struct Call {
        /// The number of other members' leases that the request has waited for.
        var leases = 0
        /// The owner of the last of these leases, which has ended; empty: none has.
        var formerOwner = ""
        /// A message that the lease was given back came before the reply to the call, which may be about that lease.
        var released: Released?
    }

    private enum Released { case one, all }

    private struct Fetch {
        let policy: FetchPolicy
        /// The request's number among the deadlines.
        let slot: Int
        let beganAt: Instant
        var phase: Phase
    }

    /// A request waits for two other members at most.
    private static let maxLeases = 2
    /// A margin, so that a lease has ended in Redis when it has ended here.
    private static let lateness: Duration = .milliseconds(2)

    /// How long a call may take before the provider is asked.
    package var readTimeout: Duration
    private var fetches: [ID: Fetch] = [:]
    /// The requests in the phases calling and waiting, by entry.
    private var awaiting: [String: [ID]] = [:]
    private var lostOwners = LostOwners()
    private var deadlines = DeadlineQueue()
    /// The requests by their numbers among the deadlines.
    private var slots: [ID] = []
    private var freeSlots: [Int] = []
    private(set) package var counts = Counts()

    package init(readTimeout: Duration) { self.readTimeout = readTimeout }

    package var nextDeadline: Instant? { deadlines.earliest }

    /// - Parameter isInUse: as in `RedisBreaker`.
    package mutating func begin(_ id: ID, _ policy: FetchPolicy, isInUse: Bool, now: Instant) -> Step {
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(id) } else { slots[slot] = id }
        guard isInUse else {
            counts.alone += 1
            fetches[id] = Fetch(policy: policy, slot: slot, beganAt: now, phase: .asking(isCallOpen: false))
            countMade(id)
            return .askAlone(id)
        }
        fetches[id] = Fetch(policy: policy, slot: slot, beganAt: now, phase: .calling(Call()))
        deadlines.set(now + readTimeout, for: slot)
        if let entry = policy.entry { awaiting[entry, default: []].append(id) }
        return .call(id)
    }

    /// Returns one of the requests that wait for the entry, or for Redis.
    package func awaiting(_ entry: String) -> ID? { awaiting[entry]?.first }

    /// Members whose leases have ended without an answer: no request waits for them.
    package func lostOwners(now: Instant) -> [String] { lostOwners.tokens(now: now) }

    package func policy(of id: ID) -> FetchPolicy? { fetches[id]?.policy }

    package mutating func replied(_ id: ID, _ reply: Reply, now: Instant) -> [Step] {
        guard let fetch = fetches[id] else { return [] }
        if case .calling(let call) = fetch.phase {
            switch reply {
            case .ours, .theirs: lostOwners.add(call.formerOwner, now: now)
            // The former owner's answer came without a message.
            case .answer, .deferred, .invalid: break
            }
        }
        switch (fetch.phase, reply) {
        case (.calling(let call), .answer(let answer, let left)) where call.leases == 0:
            counts.answers += 1
            end(id)
            return [.give(id, answer, left: left)]
        case (.calling, .answer(let answer, let left)), (.waiting, .answer(let answer, let left)):
            counts.awaited += 1
            end(id)
            return [.give(id, answer, left: left)]
        case (.calling, .ours(let wait)), (.waiting, .ours(let wait)):
            if fetch.policy.hasLease { counts.leases += 1 }
            let step = ask(id)
            guard wait > .zero else { return [step] }
            delay(id, until: now + wait)
            return []
        case (.calling, .deferred(let wait)), (.waiting, .deferred(let wait)):
            deferred(id)
            return [.deferRequest(id, for: wait)]
        case (.calling(let call), .theirs) where call.released == .one:
            return [callAgain(id, Call(leases: call.leases), now: now)]
        case (.calling(let call), .theirs) where call.released == .all: return [askAlone(id)]
        case (.calling(let call), .theirs(let left, let owner)):
            // The wait is a lease at most, whatever Redis replies.
            let longest = fetch.policy.lease + fetch.policy.turnWait
            let end = now + min(max(left, .zero), longest) + SharedFetches.lateness
            let last = fetch.beganAt + fetch.policy.patience + fetch.policy.turnWait
            fetches[id]?.phase = .waiting(leases: call.leases + 1, owner: end <= last ? owner : "")
            deadlines.set(min(end, last), for: fetch.slot)
            return []
        case (.calling, .invalid), (.waiting, .invalid):
            counts.invalid += 1
            return [askAlone(id)]
        case (.asking(true), _):
            fetches[id]?.phase = .asking(isCallOpen: false)
            switch reply {
            case .answer(let answer, let left): return [.late(id, answer, left: left)]
            case .ours: if fetch.policy.hasLease { counts.leases += 1 }
            case .theirs, .deferred: break
            case .invalid: counts.invalid += 1
            }
            return []
        case (.asking(false), _), (.waiting, .theirs): return []
        }
    }

    /// Another member has published the entry's answer. It may come before the reply that tells of the lease.
    package mutating func published(_ entry: String, _ answer: SharedAnswer, left: Duration) -> [Step] {
        let awaiting = awaiting[entry] ?? []
        counts.awaited += UInt64(awaiting.count)
        for id in awaiting { end(id) }
        return awaiting.map { .give($0, answer, left: left) }
    }

    /// The member with the lease got no answer, or none that other members can use.
    ///
    /// - Parameter asksAtOnce: each member has to ask. Otherwise the next call gets the lease.
    package mutating func released(_ entry: String, asksAtOnce: Bool) -> [Step] {
        (awaiting[entry] ?? []).compactMap { id in
            switch fetches[id]?.phase {
            case .waiting: return asksAtOnce ? askAlone(id) : .call(id)
            case .calling(var call):
                call.released = asksAtOnce ? .all : .one
                fetches[id]?.phase = .calling(call)
                return nil
            case .asking, nil: return nil
            }
        }
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

    /// - Returns: the steps that are due; for `RedisBreaker`, how many calls had no reply in time.
    package mutating func timePassed(now: Instant) -> (steps: [Step], timeouts: Int) {
        var (steps, timeouts): ([Step], Int) = ([], 0)
        while let slot = deadlines.popDue(now) {
            let id = slots[slot]
            switch fetches[id]?.phase {
            case .calling:
                timeouts += 1
                counts.timeouts += 1
                steps.append(askAlone(id, isCallOpen: true))
            case .waiting(let leases, let owner):
                counts.endedLeases += 1
                // The owner of the lease has stopped. Of all waiting requests, one gets the next lease.
                if leases >= SharedFetches.maxLeases || isPatienceOver(id, now) {
                    lostOwners.add(owner, now: now)
                    steps.append(askAlone(id))
                } else {
                    steps.append(callAgain(id, Call(leases: leases, formerOwner: owner), now: now))
                }
            case .asking: steps.append(.ask(id))
            case nil: continue
            }
        }
        return (steps, timeouts)
    }

    /// Delays the request until this time.
    package mutating func delay(_ id: ID, until instant: Instant) {
        if let slot = fetches[id]?.slot { deadlines.set(instant, for: slot) }
    }

    /// This member's share of the budget is used up: the request has ended, and is not made.
    package mutating func deferred(_ id: ID) {
        counts.deferred += 1
        if isAsking(id), fetches[id]?.policy.entry != nil { counts.made -= 1 }
        end(id)
    }

    /// The request was made, or waits for its turn only.
    package func isAsking(_ id: ID) -> Bool { if case .asking = fetches[id]?.phase { true } else { false } }

    /// The provider has answered or failed, or the answer is not wanted any more.
    ///
    /// - Returns: whether the provider was being asked: this member may have the lease.
    package mutating func ended(_ id: ID) -> Bool {
        defer { end(id) }
        return isAsking(id)
    }

    private func isPatienceOver(_ id: ID, _ now: Instant) -> Bool {
        fetches[id].map { $0.beganAt + $0.policy.patience + $0.policy.turnWait <= now } ?? true
    }

    // MARK: phases

    private mutating func ask(_ id: ID, isCallOpen: Bool = false) -> Step {
        leave(id)
        fetches[id]?.phase = .asking(isCallOpen: isCallOpen)
        countMade(id)
        return .ask(id)
    }

    private mutating func countMade(_ id: ID) { if fetches[id]?.policy.entry != nil { counts.made += 1 } }

    private mutating func askAlone(_ id: ID, isCallOpen: Bool = false) -> Step {
        _ = ask(id, isCallOpen: isCallOpen)
        return .askAlone(id)
    }

    private mutating func callAgain(_ id: ID, _ call: Call, now: Instant) -> Step {
        if let slot = fetches[id]?.slot { deadlines.set(now + readTimeout, for: slot) }
        fetches[id]?.phase = .calling(call)
        return .call(id)
    }

    private mutating func end(_ id: ID) {
        leave(id)
        if let fetch = fetches.removeValue(forKey: id) { freeSlots.append(fetch.slot) }
    }

    /// Leaves the phases that have an end.
    private mutating func leave(_ id: ID) {
        guard let fetch = fetches[id] else { return }
        deadlines.remove(fetch.slot)
        guard !isAsking(id), let entry = fetch.policy.entry else { return }
        awaiting[entry]?.removeAll { $0 == id }
        if awaiting[entry]?.isEmpty ?? false { awaiting[entry] = nil }
    }
}

/// Members whose leases have ended without an answer: they have stopped, and may hold other leases.
private struct LostOwners: Sendable {
    /// How long a lost owner is remembered: longer than any lease that a member had when it stopped.
    private static let memory: Duration = .seconds(10)
    private static let maxCount = 8

    private var lostAt: [(token: String, at: Instant)] = []

    mutating func add(_ token: String, now: Instant) {
        guard !token.isEmpty else { return }
        lostAt.removeAll { $0.token == token }
        lostAt = lostAt.suffix(LostOwners.maxCount - 1) + [(token, now)]
    }

    func tokens(now: Instant) -> [String] {
        lostAt.filter { now < $0.at + LostOwners.memory }.map(\.token)
    }
}
