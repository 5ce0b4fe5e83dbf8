// The servers of the simulation and the probes of them: an address never changes its behaviour, and some probes never
// end. It checks every probe against the bounds, and every answer against the verdicts.

import DNSWire
import TestSupport

@testable import Resolver

struct SimulatedProbes {
    private var running: [ProbeID: ProbeTarget] = [:]
    /// The ends of probes on their way, earliest last.
    private var coming: [(at: Instant, id: ProbeID, result: ProbeResult)] = []
    private var found: [ProbeTarget: Verdict] = [:]
    private var begunAt: [Instant] = []
    private var lastID: Int64 = -1
    private(set) var rearranged = 0

    var areRunning: Bool { !running.isEmpty }

    var next: Instant? { coming.last?.at }

    /// The address by number: four for each name on each network, in a part of the Internet of the name's own.
    static func address(_ question: Question, _ number: UInt32, on network: UInt32) -> Address {
        let mark = mark(question.name) & 0xFFFF
        guard question.type == .aaaa else { return .v4(0x1400_0000 | mark << 8 | network << 2 | number % 4) }
        return .v6(high: 0x2A00_0000_0000_0000 | UInt64(mark) << 8, low: UInt64(network << 2 | number % 4))
    }

    private static func mark(_ name: Name) -> UInt32 { name.wire.reduce(5381) { $0 &* 33 &+ UInt32($1) } }

    /// The server's verdict. Each name has one address of each kind; some names have no verified one.
    private static func verdict(_ target: ProbeTarget) -> Verdict {
        let kinds: [Verdict] = [
            mark(target.name) % 3 == 0 ? .untrusted : .verified, .nameMismatch, .refused, .tlsAlert,
        ]
        return kinds[Int(target.address.bytes.last ?? 0) % kinds.count]
    }

    /// Whether every address of the answer is dead or mismatched.
    static func leadsNowhere(_ name: Name, _ answer: Answer) -> Bool {
        answer.addresses.allSatisfy { address in
            let verdict = verdict(ProbeTarget(name, address, port: 443))
            return verdict.isDead || verdict.isMismatched
        }
    }

    mutating func begin(_ id: ProbeID, _ target: ProbeTarget, now: Instant, _ random: inout SeededRandom) throws {
        try require(Int64(id.number) > lastID, "a probe's ID comes twice")
        lastID = Int64(id.number)
        try require(!running.values.contains(target), "\(target) is probed twice at a time")
        try require(!target.address.isPrivate, "\(target) is not public")
        let near = running.values.count { $0.name == target.name && $0.address.recordType == target.address.recordType }
        try require(near < Bounds.maxProbesPerPrefix, "too many probes in a neighbourhood")
        running[id] = target
        try require(running.count <= Bounds.maxProbes, "too many probes")
        begunAt = begunAt.filter { now - $0 < .seconds(1) } + [now]
        // A second may also use the budget that the one before saved up.
        try require(begunAt.count <= 2 * Bounds.probesPerSecond, "too many probes in a second")
        guard Int.random(in: 0..<20, using: &random) > 0 else { return }
        var result = ProbeResult(SimulatedProbes.verdict(target))
        result.handshakeTime = .milliseconds(20)
        if Int.random(in: 0..<10, using: &random) == 0 { result = ProbeResult(.tlsTimeout) }
        let at = now + .milliseconds(Int.random(in: 0...2000, using: &random))
        coming.insert((at, id, result), at: coming.lastIndex { $0.at > at }.map { $0 + 1 } ?? 0)
    }

    mutating func takeNext(now: Instant) -> (id: ProbeID, result: ProbeResult)? {
        guard let last = coming.last, last.at <= now else { return nil }
        coming.removeLast()
        return (last.id, last.result)
    }

    /// Drops the verdicts for names that the resolver has forgotten on a network that is in use again.
    mutating func cameBack(_ network: NetworkID, knowing names: [Name]) {
        let names = Set(names)
        found = found.filter {
            SimulatedNetworks.network(of: $0.key.address) != network.rawValue || names.contains($0.key.name)
        }
    }

    /// Drops the verdicts of a network that the resolver has forgotten.
    mutating func forget(_ network: NetworkID) {
        found = found.filter { SimulatedNetworks.network(of: $0.key.address) != network.rawValue }
    }

    /// Records a result before the resolver handles it.
    mutating func ended(_ target: ProbeTarget, _ result: ProbeResult) {
        running = running.filter { $0.value != target }
        if result.verdict != .unprobed { found[target] = result.verdict }
    }

    /// Whether a verified address of the name is known on the network of these addresses. Without one, certificates
    /// prove nothing.
    private func wasVerified(_ name: Name, _ mismatched: [Address]) -> Bool {
        let networks = Set(mismatched.map { SimulatedNetworks.network(of: $0) })
        return found.contains {
            $0.key.name == name && $0.value == .verified
                && networks.contains(SimulatedNetworks.network(of: $0.key.address))
        }
    }

    /// Checks an answer for clients.
    mutating func check(_ question: Question, _ answer: Answer, isRearranged: Bool = false) throws {
        if isRearranged { rearranged += 1 }
        guard question.type.isAddress, answer.kind == .records else { return }
        let mismatched = answer.addresses.filter {
            found[ProbeTarget(question.name, $0, port: 443)]?.isMismatched ?? false
        }
        try require(!answer.addresses.isEmpty, "\(question) is blank")
        try require(
            mismatched.isEmpty || mismatched.count == answer.addresses.count || !wasVerified(question.name, mismatched),
            "\(question): \(mismatched) are handed out beside others")
    }

    private func require(_ condition: Bool, _ complaint: @autoclosure () -> String) throws {
        guard !condition else { return }
        throw SimulationAccount.Broken(description: complaint())
    }
}
