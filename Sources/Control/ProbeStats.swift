// The counters of `stats` about verified addresses.

extension StatsReport {
    package struct Probe: Codable, Equatable, Sendable {
        package var done = 0
        /// Of those, by verdict.
        package var verdicts: [String: Int] = [:]
        /// Addresses that are kept from clients now.
        package var quarantined = 0
        package var dropped = 0
        package var divergences = 0
        package var running = 0
        package var waiting = 0
        /// Due and not begun, by reason.
        package var skipped: [String: Int] = [:]
        /// Begun, and never ended.
        package var lost = 0
        /// That had to make room for others, with all that was known of them.
        package var forgottenNames = 0
        /// Divergences that are kept, over restarts too.
        package var evidence = 0
        /// Notes of the store that were none.
        package var brokenEvidence = 0
        package var reports = Reports()
        /// From the first packet to the verdict, of probes that were begun.
        package var durations = Histogram()

        package init() {}

        package enum CodingKeys: String, CodingKey {
            case done, verdicts, quarantined, dropped, divergences, running, waiting, skipped, lost, evidence, reports,
                durations
            case forgottenNames = "forgotten_names"
            case brokenEvidence = "broken_evidence"
        }

        /// Of programs, that an address failed.
        package struct Reports: Codable, Equatable, Sendable {
            /// Led to a probe.
            package var accepted = 0
            /// Too many, or about an address that no answer has led to.
            package var refused = 0
            package init() {}
        }
    }
}
