// Which probe begins when: spread in time, few at once, fewer to one neighbourhood, and those first that somebody waits
// for. Knows nothing of verdicts.
//
// Invariants: `waiting` has those that are wanted first, in the order in which they came, then the others by
// `readyAt`; a target is waiting or running at most once; `running` is in the order of the beginning.

import DNSWire

struct ProbePlan {
    private struct Waiting {
        let target: ProbeTarget
        var isWanted: Bool
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
    private var chance: Chance
    private var nextNumber: UInt64 = 0
    /// Since `begin`.
    private var hasChanged = false
    /// Nothing begins.
    var isHeld = false {
        didSet { hasChanged = true }
    }
    /// When `begin` or `takeLost` has something to do; nil when nothing waits for time.
    private(set) var nextDeadline: Instant?
    /// Not taken, or pushed out, because there was no room.
    private(set) var overflows: UInt64 = 0

    init(seed: UInt64) {
        chance = Chance(seed: seed)
    }

    var runningCount: Int { running.count }
    var waitingCount: Int { waiting.count }

    func contains(_ target: ProbeTarget) -> Bool { known.contains(target) }

    /// One that is waiting or running already is not taken twice; if it is wanted now, it goes first.
    ///
    /// - Parameter notBefore: for one that nobody waits for; nil: spread.
    /// - Returns: false when there is no room.
    @discardableResult
    mutating func add(_ target: ProbeTarget, isWanted: Bool, notBefore: Instant? = nil, now: Instant) -> Bool {
        if known.contains(target) {
            guard isWanted, let index = waiting.firstIndex(where: { $0.target == target && !$0.isWanted }) else {
                return true
            }
            waiting.remove(at: index)
        } else if waiting.count >= Bounds.maxWaitingProbes {
            overflows += 1
            guard isWanted, let last = waiting.last, !last.isWanted else { return false }
            known.remove(waiting.removeLast().target)
        }
        hasChanged = true
        known.insert(target)
        let readyAt = isWanted ? now : notBefore ?? now + chance.duration(upTo: Bounds.probeJitter)
        let index = waiting.firstIndex { !$0.isWanted && (isWanted || $0.readyAt > readyAt) } ?? waiting.count
        waiting.insert(Waiting(target: target, isWanted: isWanted, readyAt: readyAt), at: index)
        return true
    }

    /// What waits for this name is not to be probed any more.
    mutating func remove(_ name: Name) {
        hasChanged = hasChanged || !waiting.isEmpty
        for entry in waiting where entry.target.name == name { known.remove(entry.target) }
        waiting.removeAll { $0.target.name == name }
    }

    /// Nothing is waited for any more.
    ///
    /// - Returns: those that ran, and those that somebody wants to know of.
    mutating func reset() -> [ProbeTarget] {
        let wanted = waiting.filter(\.isWanted).map(\.target)
        for entry in waiting { known.remove(entry.target) }
        waiting = []
        var ran: [ProbeTarget] = []
        while !running.isEmpty { ran.append(end(0)) }
        return ran + wanted
    }

    /// All that may begin now, in this order. To be called after every change.
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

    /// Nil when nothing waits for time. Perhaps too early while too many have begun: looking at all that wait comes
    /// after that.
    private func nextBegin(_ now: Instant) -> Instant? {
        guard !waiting.isEmpty, running.count < Bounds.maxProbes else { return nil }
        let next = starts.readyAt(perSecond: Bounds.probesPerSecond, now: now)
        return next > now ? next : waiting.lazy.compactMap { readyAt($0, now: now) }.min()
    }

    /// - Returns: nil for one that is not running, or was given up.
    mutating func ended(_ id: ProbeID) -> ProbeTarget? {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return nil }
        return end(index)
    }

    /// Those that have been out for too long: nothing is expected of them any more.
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

    /// As far as its own place is concerned; nil: not before another one ends.
    private func readyAt(_ entry: Waiting, now: Instant) -> Instant? {
        let places = entry.isWanted ? Bounds.maxProbes : Bounds.maxProbes - Bounds.probesInReserve
        guard running.count < places, let there = prefixes.readyAt(entry.target.address, now: now) else { return nil }
        return max(entry.readyAt, there)
    }
}
