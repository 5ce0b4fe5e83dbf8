// The main loop's answers: counts by source, code and reason, and the times that the answers took.

import DNSWire
import Resolver
import Serving
import Telemetry

struct AnswerCounts {
    var tally = Tally()
    /// Questions taken of those that listeners handed over.
    var questionsTaken: UInt64 = 0
    /// Counts of the daemon's own checks of nameservers that came back to it. Listeners have counted them as queries of
    /// clients.
    var returnedChecks: [Transport: UInt64] = [:]
    private(set) var latencies = SourceLatencies()
    private(set) var blocked = BlockedAnswers()
    /// Stale answers by cause.
    private(set) var staleCauses: [StaleCause: UInt64] = [:]

    /// - Parameter rule: what blocked the name.
    mutating func answered(
        _ code: ResponseCode, from source: FlightEvent.Source, by rule: BlockingRule?, after duration: Duration
    ) {
        if let rule { blocked.add(rule) }
        latencies.record(duration, from: source)
        tally.count(code)
        tally.add(source.count)
    }

    mutating func answeredStale(because cause: StaleCause) { staleCauses[cause, default: 0] += 1 }
}
