// The probe counters of `stats`.

extension StatsReport {
    package struct Probe: Codable, Equatable, Sendable {
        package var done = 0
        /// Completed probes, by verdict.
        package var verdicts: [String: Int] = [:]
        /// Addresses that answers leave out now: mismatched ones. `dropped` has the unreachable ones.
        package var quarantined = 0
        package var dropped = 0
        package var divergences = 0
        package var running = 0
        package var waiting = 0
        /// Probes that were due and not started, by reason.
        package var skipped: [String: Int] = [:]
        /// Probes that were started and never completed.
        package var lost = 0
        /// Names that were evicted from the bounded table, with their verdicts.
        package var forgottenNames = 0
        /// Forgery evidence that the store keeps, also across restarts.
        package var evidence = 0
        /// Notes of the store that were not valid evidence.
        package var brokenEvidence = 0
        package var reports = Reports()
        /// Durations from the first packet to the verdict, for probes that were started.
        package var durations = Histogram()

        package init() {}

        package enum CodingKeys: String, CodingKey {
            case done, verdicts, quarantined, dropped, divergences, running, waiting, skipped, lost, evidence, reports,
                durations
            case forgottenNames = "forgotten_names"
            case brokenEvidence = "broken_evidence"
        }

        /// Reports by programs that an address failed.
        package struct Reports: Codable, Equatable, Sendable {
            /// Reports that led to a probe.
            package var accepted = 0
            /// Reports over the limit, or about an address that no answer contained.
            package var refused = 0
            package init() {}
        }
    }
}
