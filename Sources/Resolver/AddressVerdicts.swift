// What probes found at one address of a name: the last verdict at each port, what the ports come to together, and when
// the next probe may be. Doubtful results and our own failures never speak against an address.

import DNSWire

/// What is known of one port.
struct Check {
    let port: UInt16
    /// The last one that says something; `unprobed` if there was none.
    private(set) var result = ProbeResult(.unprobed)
    private(set) var probedAt: Instant?
    private(set) var nextAt: Instant?
    /// The same verdict so often in a row, beyond the first time.
    private var repeats = 0

    init(port: UInt16) {
        self.port = port
    }

    func isDue(_ now: Instant) -> Bool { nextAt.map { $0 <= now } ?? true }

    mutating func putOff(until instant: Instant) { nextAt = instant }

    /// What was found was found at another time.
    mutating func becomesDue() {
        nextAt = nil
        repeats = 0
    }

    /// - Parameter ttlSeconds: of the answer that led to the address.
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
        let isBad = result.verdict.isCondemned || result.verdict.isDead
        let longest = isBad ? Bounds.badProbePauseCeiling : max(first, Bounds.probePauseCeiling)
        return min(first * (1 << min(repeats, Bounds.maxProbePauseDoublings)), longest)
    }
}

/// What an address is worth, all ports together.
struct Judgement: Equatable {
    let verdict: Verdict
    /// Of the quickest port that is verified.
    var handshakeTime: Duration?

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

    /// Verified at one port: it is the name's own. Nobody is there only if nobody is there at any port.
    var judgement: Judgement {
        let verdict = checks.map(\.result.verdict).min { $0.weight < $1.weight } ?? .unprobed
        switch verdict {
        case .verified:
            let times = checks.filter { $0.result.verdict == .verified }.compactMap(\.result.handshakeTime)
            return Judgement(verdict: .verified, handshakeTime: times.min())
        case _ where verdict.isDead && checks.contains { $0.result.verdict == .unprobed }: return .none
        default: return Judgement(verdict: verdict)
        }
    }

    /// The port that decided.
    var decidingCheck: Check? { checks.min { $0.result.verdict.weight < $1.result.verdict.weight } }

    var hasVerdict: Bool { checks.contains { $0.result.verdict != .unprobed } }

    mutating func named(ttlSeconds: UInt32, now: Instant) {
        namedAt = now
        self.ttlSeconds = ttlSeconds
    }

    /// What was found at ports that are not probed any more is forgotten.
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

    /// - Returns: false when the port is not probed any more.
    mutating func found(_ result: ProbeResult, port: UInt16, now: Instant) -> Bool {
        guard let index = checks.firstIndex(where: { $0.port == port }) else { return false }
        checks[index].found(result, ttlSeconds: ttlSeconds, now: now)
        return true
    }
}

extension Verdict {
    /// Where ports of one address disagree, the smallest decides. What a certificate shows counts most, good news
    /// first; then whatever shows that somebody is there.
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
        case .refused: 9
        case .unreachable: 10
        case .timeout: 11
        case .unprobed: 12
        }
    }
}
