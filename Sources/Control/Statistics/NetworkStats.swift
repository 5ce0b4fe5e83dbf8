// The network counters of `stats`.

extension StatsReport {
    package struct Network: Codable, Equatable, Sendable {
        /// The ID of the network; empty if there is none, or the network is not monitored.
        package var id = ""
        /// The kind: "wifi", "ethernet", "cellular", "tunnel" or "other"; empty if `id` is empty.
        package var kind = ""
        package var changes = 0
        /// Time from the first usable route to the first fresh answer; 0 before the first time.
        package var lastRecoveryMilliseconds = 0
        /// Number of changes, by cause.
        package var causes: [String: Int] = [:]
        /// Durations from the first usable route to the first fresh answer, by the cause of the change.
        package var recoveryMilliseconds: [String: Recovery] = [:]

        package init() {}

        package enum CodingKeys: String, CodingKey {
            case id, kind, changes, causes
            case lastRecoveryMilliseconds = "last_recovery_ms"
            case recoveryMilliseconds = "recovery_ms"
        }

        package struct Recovery: Codable, Equatable, Sendable {
            package var count = 0
            package var p50 = 0
            package var p95 = 0
            package var sumMilliseconds = 0
            /// Cumulative counts, by upper bound in milliseconds.
            package var atMost: [String: Int] = [:]
            package init() {}

            package enum CodingKeys: String, CodingKey {
                case count, p50, p95
                case sumMilliseconds = "sum"
                case atMost = "at_most"
            }
        }
    }
}
