// Schedules probes: spreads them in time, limits them in total, per /24 or /56 and per registrable domain, and starts
// requested ones first. Uses no verdicts.
//
// Invariants: `waiting` has the requested targets first, in order of arrival, then the others by `readyAt`. A target is
// waiting or running at most once. `running` is in order of start.

import DNSWire
import PublicSuffix

struct ProbePlan {
    private struct Waiting {
        let target: ProbeTarget
        let domain: Name
        let prefix: AggregatePrefix
        var isRequested: Bool
        var readyAt: Instant
    }

    private struct Running {
        let id: ProbeID
        let target: ProbeTarget
        let beganAt: Instant

        var lostAt: Instant { beganAt + Bounds.probeStop }
    }

    private var waiting: [Waiting] = []
    private var running: [Running] = []
    private var known: Set<ProbeTarget> = []
    private var starts = TokenBucket()
    private var prefixes = PrefixBudget()
    private var random: SeededGenerator
    private var nextNumber: UInt64 = 0
    /// Whether anything changed since the last `begin`.
    private var hasChanged = false
    /// True while the network changes: no probe starts.
    var isHeld = false {
        didSet { hasChanged = true }
    }
    /// When `begin` or `takeLost` has something to do; nil when nothing waits for time.
    private(set) var nextDeadline: Instant?
    /// Probes that were rejected or evicted because there was no room.
    private(set) var overflows: UInt64 = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    var runningCount: Int { running.count }
    var waitingCount: Int { waiting.count }

    func contains(_ target: ProbeTarget) -> Bool { known.contains(target) }

    /// Adds a probe. A target that already waits or runs is not added again; an explicit request moves it to the front.
    ///
    /// - Parameters:
    ///   - isFirst: the address has not been probed for the name. A prefix's share of such probes is smaller, because a
    ///     source may give one address for any number of names.
    ///   - notBefore: earliest start of a probe that was not explicitly requested; nil: spread by `Bounds.probeJitter`.
    /// - Returns: false if there is no room, in total, for the name's registrable domain or for the address's prefix.
    @discardableResult
    mutating func add(
        _ target: ProbeTarget, isRequested: Bool, isFirst: Bool = false, notBefore: Instant? = nil, now: Instant
    ) -> Bool {
        let (domain, prefix) = (target.name.registrableDomain, AggregatePrefix(of: target.address))
        if known.contains(target) {
            guard isRequested, let index = waiting.firstIndex(where: { $0.target == target && !$0.isRequested }) else {
                return true
            }
            waiting.remove(at: index)
        } else if !isRequested, !hasRoom(domain, prefix, isFirst: isFirst) {
            overflows += 1
            return false
        } else if waiting.count >= Bounds.maxWaitingProbes {
            overflows += 1
            guard isRequested, let last = waiting.last, !last.isRequested else { return false }
            known.remove(waiting.removeLast().target)
        }
        hasChanged = true
        known.insert(target)
        let readyAt = isRequested ? now : notBefore ?? now + random.duration(upTo: Bounds.probeJitter)
        let index = waiting.firstIndex { !$0.isRequested && (isRequested || $0.readyAt > readyAt) } ?? waiting.count
        let entry = Waiting(
            target: target, domain: domain, prefix: prefix, isRequested: isRequested, readyAt: readyAt)
        waiting.insert(entry, at: index)
        return true
    }

    /// Returns whether neither the domain nor the prefix has its share of the waiting probes.
    private func hasRoom(_ domain: Name, _ prefix: AggregatePrefix, isFirst: Bool) -> Bool {
        let most = isFirst ? Bounds.maxWaitingProbesOfGroup : Bounds.maxWaitingProbesOfPrefix
        return waiting.count < Bounds.maxWaitingProbesOfGroup
            || waiting.count { $0.domain == domain } < Bounds.maxWaitingProbesOfGroup
                && waiting.count { $0.prefix == prefix } < most
    }

    /// Removes the waiting probes of a name.
    mutating func remove(_ name: Name) {
        hasChanged = hasChanged || !waiting.isEmpty
        for entry in waiting where entry.target.name == name { known.remove(entry.target) }
        waiting.removeAll { $0.target.name == name }
    }

    /// Drops all probes, waiting and running.
    ///
    /// - Returns: the targets of the running probes and of the waiting requested ones.
    mutating func reset() -> [ProbeTarget] {
        let requested = waiting.filter(\.isRequested).map(\.target)
        for entry in waiting { known.remove(entry.target) }
        waiting = []
        var ran: [ProbeTarget] = []
        while !running.isEmpty { ran.append(end(0)) }
        return ran + requested
    }

    /// Starts all probes that may start now, in the order of `waiting`. Call it after every change.
    mutating func begin(now: Instant) -> [(id: ProbeID, target: ProbeTarget)] {
        guard hasChanged || nextDeadline.map({ $0 <= now }) ?? false else { return [] }
        hasChanged = false
        guard !isHeld else {
            nextDeadline = running.first?.lostAt
            return []
        }
        var begun: [(id: ProbeID, target: ProbeTarget)] = []
        var left: [Waiting] = []
        for (index, entry) in waiting.enumerated() {
            guard starts.readyAt(perSecond: Bounds.probesPerSecond, now: now) <= now else {
                left += waiting[index...]
                break
            }
            if let readyAt = readyAt(entry, now: now), readyAt <= now {
                begun.append((begin(entry.target, now: now), entry.target))
            } else {
                left.append(entry)
            }
        }
        waiting = left
        nextDeadline = [running.first?.lostAt, nextBegin(now)].compactMap { $0 }.min()
        return begun
    }

    private mutating func begin(_ target: ProbeTarget, now: Instant) -> ProbeID {
        let id = ProbeID(nextNumber)
        nextNumber += 1
        running.append(Running(id: id, target: target, beganAt: now))
        _ = starts.spend(perSecond: Bounds.probesPerSecond, now: now)
        prefixes.began(target.address, now: now)
        return id
    }

    /// Returns when `begin` may start a probe; nil if nothing is scheduled. The instant may be too early while the
    /// start rate is exhausted; waiting entries are examined after that.
    private func nextBegin(_ now: Instant) -> Instant? {
        guard !waiting.isEmpty, running.count < Bounds.maxProbes else { return nil }
        let next = starts.readyAt(perSecond: Bounds.probesPerSecond, now: now)
        return next > now ? next : waiting.lazy.compactMap { readyAt($0, now: now) }.min()
    }

    /// - Returns: the target; nil for a probe that is not running or was given up.
    mutating func ended(_ id: ProbeID) -> ProbeTarget? {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return nil }
        return end(index)
    }

    /// Takes the probes that have run longer than `Bounds.probeStop`, and frees their slots.
    mutating func takeLost(now: Instant) -> [ProbeTarget] {
        var lost: [ProbeTarget] = []
        while let first = running.first, first.lostAt <= now { lost.append(end(0)) }
        return lost
    }

    private mutating func end(_ index: Int) -> ProbeTarget {
        hasChanged = true
        let target = running.remove(at: index).target
        known.remove(target)
        prefixes.ended(target.address)
        return target
    }

    /// Returns when the entry may start, as far as slots and its prefix allow; nil: not before another probe ends.
    private func readyAt(_ entry: Waiting, now: Instant) -> Instant? {
        let places = entry.isRequested ? Bounds.maxProbes : Bounds.maxProbes - Bounds.reservedProbes
        guard running.count < places, let there = prefixes.readyAt(entry.target.address, now: now) else { return nil }
        return max(entry.readyAt, there)
    }
}
