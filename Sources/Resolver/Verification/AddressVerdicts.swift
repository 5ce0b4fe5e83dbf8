// Probe results of one address of a name: the last verdict per port, the combined judgement, and the time of the next
// probe. Doubtful results and local failures never count against an address.

import DNSWire

/// Probe state of one port.
struct Check {
    let port: UInt16
    /// The last conclusive result; `unprobed` if there was none.
    private(set) var result = ProbeResult(.unprobed)
    private(set) var probedAt: Instant?
    private(set) var nextAt: Instant?
    /// Consecutive repetitions of the same verdict, without the first.
    private var repeats = 0

    init(port: UInt16) {
        self.port = port
    }

    func isDue(_ now: Instant) -> Bool { nextAt.map { $0 <= now } ?? true }

    mutating func putOff(until instant: Instant) { nextAt = instant }

    /// Makes the port due again. The verdict is from before the network change.
    mutating func becomesDue() {
        nextAt = nil
        repeats = 0
    }

    /// - Parameter ttlSeconds: TTL of the answer with the address.
    mutating func found(_ result: ProbeResult, ttlSeconds: UInt32, now: Instant) {
        guard result.verdict != .unprobed else {
            nextAt = now + Bounds.probePause
            return
        }
        repeats = result.verdict == self.result.verdict ? repeats + 1 : 0
        self.result = result
        probedAt = now
        nextAt = now + pause(ttlSeconds)
    }

    private func pause(_ ttlSeconds: UInt32) -> Duration {
        guard result.verdict != .timeDoubtful else { return Bounds.probePause }
        let first = max(.seconds(Int64(ttlSeconds)), Bounds.probePause)
        let isBad = result.verdict.isMismatched || result.verdict.isDead
        let longest = isBad ? Bounds.badProbePauseCeiling : max(first, Bounds.probePauseCeiling)
        return min(first * (1 << min(repeats, Bounds.maxProbePauseDoublings)), longest)
    }
}

/// The combined verdict of all ports of an address.
struct Judgement: Equatable {
    let verdict: Verdict
    /// Handshake time of the quickest verified port; time of the connection if there was no handshake.
    var time: Duration?

    static let none = Judgement(verdict: .unprobed)
}

struct KnownAddress {
    let address: Address
    fileprivate(set) var namedAt: Instant
    private(set) var checks: [Check]
    fileprivate var ttlSeconds: UInt32

    init(_ address: Address, ports: [UInt16], ttlSeconds: UInt32, now: Instant) {
        self.address = address
        self.ttlSeconds = ttlSeconds
        namedAt = now
        checks = ports.map { Check(port: $0) }
    }

    /// One verified port verifies the address. The address is unreachable only if all its ports are.
    var judgement: Judgement {
        let verdict = checks.map(\.result.verdict).min { $0.weight < $1.weight } ?? .unprobed
        switch verdict {
        case .verified:
            let times = checks.filter { $0.result.verdict == .verified }.compactMap(\.result.handshakeTime)
            return Judgement(verdict: .verified, time: times.min())
        case .connected: return Judgement(verdict: .connected, time: checks.compactMap(\.result.connectTime).min())
        case _ where verdict.isDead && checks.contains { $0.result.verdict == .unprobed }: return .none
        default: return Judgement(verdict: verdict)
        }
    }

    /// Connection time of the quickest verified port; nil: none is verified.
    var connectTime: Duration? {
        checks.lazy.filter { $0.result.verdict == .verified }.compactMap(\.result.connectTime).min()
    }

    /// The port that decides the combined verdict.
    var decidingCheck: Check? { checks.min { $0.result.verdict.weight < $1.result.verdict.weight } }

    var hasVerdict: Bool { checks.contains { $0.result.verdict != .unprobed } }

    mutating func named(ttlSeconds: UInt32, now: Instant) {
        namedAt = now
        self.ttlSeconds = ttlSeconds
    }

    /// Sets the ports to probe. Results of other ports are forgotten.
    mutating func setPorts(_ ports: [UInt16]) {
        guard checks.map(\.port) != ports else { return }
        checks = ports.map { port in checks.first { $0.port == port } ?? Check(port: port) }
    }

    mutating func becomesDue() {
        for index in checks.indices { checks[index].becomesDue() }
    }

    mutating func putOff(port: UInt16, until instant: Instant) {
        guard let index = checks.firstIndex(where: { $0.port == port }) else { return }
        checks[index].putOff(until: instant)
    }

    /// - Returns: false if the port is no longer probed.
    mutating func found(_ result: ProbeResult, port: UInt16, now: Instant) -> Bool {
        guard let index = checks.firstIndex(where: { $0.port == port }) else { return false }
        checks[index].found(result, ttlSeconds: ttlSeconds, now: now)
        return true
    }
}

extension Verdict {
    /// Precedence of verdicts if ports disagree; the smallest decides. Certificate results count most, good ones first,
    /// then results that prove a reachable server.
    fileprivate var weight: Int {
        switch self {
        case .verified: 0
        case .nameMismatch: 1
        case .untrusted: 2
        case .timeDoubtful: 3
        case .expiredCertificate: 4
        case .tlsAlert: 5
        case .tlsReset: 6
        case .tlsTimeout: 7
        case .notTLS: 8
        case .connected: 9
        case .refused: 10
        case .unreachable: 11
        case .timeout: 12
        case .unprobed: 13
        }
    }
}
