// State machine of one `verify` or `report` command: which probes are pending, what is reported, when it ends. A
// value without socket, clock and text.
//
//   known -----------------> waiting -> (only mismatched: awaiting others) -> ended
//   unknown -> looking up ---^                                                  ^
//                  `------------------------------------------------------------'

import DNSWire
import LinuxIO
import Resolver

struct PendingProbe {
    enum Purpose: Equatable {
        /// All addresses of the name. An unknown name is resolved first.
        case verify
        /// One address, only if an answer contained it.
        case report(Address)
    }

    struct Finding: Equatable {
        let target: ProbeTarget
        let result: ProbeResult
    }

    /// The next step of the caller.
    enum Step: Equatable {
        case resolve
        /// One probe per address, so that each has its own result.
        case probe([Address])
        case found(Finding)
        case notProbed(Address, ProbeRefusal)
        case noResult(ProbeTarget)
        /// The last step.
        case end(End)
    }

    enum End: Equatable {
        /// The findings by name or address, in order of arrival.
        case found([Finding])
        /// No answer contained this address, or any address of the name.
        case unknown
        case refused(ProbeRefusal)
    }

    let name: Name
    let purpose: Purpose
    /// Addresses in the cache before the lookup's answers, which the resolver may not know, because they come from the
    /// store.
    private(set) var cached: [ProbeTarget]
    private var phase = Phase.ended
    private var findings: [Finding] = []

    private enum Phase {
        /// Addresses seen at the last check: A and AAAA answers do not arrive together. A lookup of the other family
        /// is awaited until `bothUntil`.
        case lookingUp(seen: Set<ProbeTarget>, nextCheck: Instant, bothUntil: Instant, until: Instant)
        /// The addresses wait for results, in the order in which they became known.
        case waiting([ProbeTarget], until: Instant)
        /// All known addresses are mismatched: the resolver asks the other sources, and probes their addresses.
        case awaitingOthers(until: Instant)
        case ended
    }

    /// Time limit of the lookup: enough for a slow upstream and the one that is asked after it.
    static let lookupTimeout: Duration = .seconds(5)
    static let checkInterval: Duration = .milliseconds(100)
    /// How long the other family's answer is awaited, if one family is known: more than a usual answer takes.
    static let familyPatience: Duration = .seconds(2)
    /// Limit without any news: twice the longest time-out that can be set, once for waiting for a free place among
    /// nearby addresses and once for the probe. Less than a client's time-out for a step.
    static let probeTime: Duration = .seconds(25)
    /// Time for an answer of another source and a probe of its address.
    static let othersTime: Duration = .seconds(2)

    init(_ purpose: Purpose, of name: Name, cached: [ProbeTarget] = []) {
        self.purpose = purpose
        self.name = name
        self.cached = cached
    }

    /// When `timePassed` is due; nil once the command has ended.
    var nextDeadline: Instant? {
        switch phase {
        case .lookingUp(_, let nextCheck, _, _): nextCheck
        case .waiting(_, let until), .awaitingOthers(let until): until
        case .ended: nil
        }
    }

    /// - Parameter known: addresses that answers for the name contained.
    mutating func begin(known: [ProbeTarget], now: Instant) -> [Step] {
        switch purpose {
        case .report(let address):
            let targets = known.filter { $0.address == address }
            return targets.isEmpty ? end(.unknown) : probe(targets, now: now)
        case .verify:
            guard known.isEmpty else { return probe(withCached(known), now: now) }
            phase = .lookingUp(
                seen: [], nextCheck: now + PendingProbe.checkInterval, bothUntil: now + PendingProbe.familyPatience,
                until: now + PendingProbe.lookupTimeout)
            return [.resolve]
        }
    }

    /// Notes addresses in the cache: at the start, the store is possibly still loading.
    mutating func note(cached more: [ProbeTarget]) { cached += more.filter { !cached.contains($0) } }

    /// - Parameter isLookedUp: a lookup of one of the two families is in flight.
    mutating func timePassed(known: [ProbeTarget], isLookedUp: Bool, now: Instant) -> [Step] {
        switch phase {
        case .lookingUp(let seen, let nextCheck, let bothUntil, let until) where nextCheck <= now:
            let awaitsOther = isLookedUp && now < bothUntil
            let isStable = seen == Set(known) && !awaitsOther || now >= until
            if isStable, !known.isEmpty { return probe(withCached(known), now: now) }
            guard now < until else { return cached.isEmpty ? end(.unknown) : probe(cached, now: now) }
            phase = .lookingUp(
                seen: Set(known), nextCheck: now + PendingProbe.checkInterval, bothUntil: bothUntil, until: until)
            return []
        case .waiting(let targets, let until) where until <= now:
            return targets.map(Step.noResult) + end(.found(findings))
        case .awaitingOthers(let until) where until <= now: return end(.found(findings))
        case .lookingUp, .waiting, .awaitingOthers, .ended: return []
        }
    }

    /// Ignores news that concerns other commands or arrives after the end.
    mutating func take(_ news: ProbeNews, now: Instant) -> [Step] {
        switch phase {
        case .waiting(let targets, _): take(news, about: targets, now: now)
        case .awaitingOthers: takeOther(news)
        case .lookingUp, .ended: []
        }
    }

    private mutating func take(_ news: ProbeNews, about targets: [ProbeTarget], now: Instant) -> [Step] {
        let left: [ProbeTarget]
        let steps: [Step]
        switch news {
        case .found(let target, let result):
            left = targets.filter { $0 != target }
            let finding = Finding(target: target, result: result)
            guard left.count < targets.count else { return [] }
            findings.append(finding)
            steps = [.found(finding)]
        case .refused(let name, let address, let reason):
            left = targets.filter { $0.address != address }
            guard name == self.name, left.count < targets.count else { return [] }
            // A reason that holds for all addresses is reported once.
            if reason == .disabled || purpose != .verify { return end(.refused(reason)) }
            steps = [.notProbed(address, reason)]
        }
        phase = .waiting(left, until: now + PendingProbe.probeTime)
        return steps + (left.isEmpty ? probed(now: now) : [])
    }

    /// All known addresses have results.
    private mutating func probed(now: Instant) -> [Step] {
        let verdicts = findings.map(\.result.verdict)
        guard purpose == .verify, verdicts.contains(where: \.isMismatched), !verdicts.contains(.verified) else {
            return end(.found(findings))
        }
        phase = .awaitingOthers(until: now + PendingProbe.othersTime)
        return []
    }

    private mutating func takeOther(_ news: ProbeNews) -> [Step] {
        guard case .found(let target, let result) = news, target.name == name,
            !findings.contains(where: { $0.target == target })
        else { return [] }
        let finding = Finding(target: target, result: result)
        findings.append(finding)
        return [.found(finding)] + (result.verdict == .verified ? end(.found(findings)) : [])
    }

    private func withCached(_ known: [ProbeTarget]) -> [ProbeTarget] { known + cached.filter { !known.contains($0) } }

    private mutating func probe(_ targets: [ProbeTarget], now: Instant) -> [Step] {
        phase = .waiting(targets, until: now + PendingProbe.probeTime)
        return [.probe(targets.map(\.address).withoutRepetition)]
    }

    private mutating func end(_ end: End) -> [Step] {
        phase = .ended
        return [.end(end)]
    }
}
