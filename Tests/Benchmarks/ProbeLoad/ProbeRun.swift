// The order of the probes, and the account of finished ones.

import DNSWire
import Daemon
import LinuxIO
import Resolver

struct ProbeRun {
    private let targets: [ProbeTarget]
    private let count: Int
    private let atOnce: Int
    private var started = 0
    private var found: [Verdict: Int] = [:]
    private var handshakes: [Double] = []
    /// The distinct reasons for missing verdicts.
    private var reasons: Set<String> = []

    init(_ targets: [ProbeTarget], count: Int, atOnce: Int) {
        self.targets = targets
        self.count = count
        self.atOnce = atOnce
    }

    private var ended: Int { found.values.reduce(0, +) }

    /// Starts as many probes as there is room for; returns false when all have ended.
    mutating func fill(_ probes: Probes, now: Instant) -> Bool {
        while started < count, started - ended < atOnce {
            probes.start(ProbeID(UInt64(started)), targets[started % targets.count], now: now)
            started += 1
            take(probes)
        }
        return ended < count
    }

    mutating func take(_ probes: Probes) {
        for (_, result) in probes.takeFinished() {
            found[result.verdict, default: 0] += 1
            if let time = result.handshakeTime { handshakes.append(time / .milliseconds(1)) }
            if result.verdict != .verified { reasons.insert("\(result.verdict.rawValue): \(result.detail)") }
        }
    }

    func report(seconds: Double, cpuSeconds: Double) -> String {
        let verdicts = Verdict.allCases.compactMap { verdict in found[verdict].map { "\(verdict.rawValue) \($0)" } }
        let sorted = handshakes.sorted()
        let figures = [
            "probes \(ended)", "seconds \(tenths(seconds))", "cpu-ms \(thousandths(cpuSeconds * 1000 / Double(count)))",
            "p50-ms \(tenths(sorted.isEmpty ? 0 : sorted[sorted.count / 2]))",
            "p99-ms \(tenths(sorted.isEmpty ? 0 : sorted[sorted.count * 99 / 100]))",
        ]
        return (verdicts + figures + reasons.sorted().map { "# \($0)" }).joined(separator: "\n")
    }

    private func tenths(_ value: Double) -> Double { (value * 10).rounded() / 10 }
    private func thousandths(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
}
