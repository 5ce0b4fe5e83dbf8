// The counters of `stats` for a fleet, and their metrics.

extension StatsReport {
    package struct Fleet: Codable, Equatable, Sendable {
        /// 1 if Redis is used, otherwise 0.
        package var inUse = 0
        /// How often Redis was switched off.
        package var trips = 0
        /// Requests to providers that were not made, because another member had the answer.
        package var answers = 0
        /// Requests to providers that were not made, because another member was asking.
        package var awaited = 0
        /// Requests to providers that this member made, and whose answer may be shared.
        package var made = 0
        /// Requests of `made` that had a lease, so that other members waited for the answer.
        package var leases = 0
        /// Waits for another member's answer that took too long.
        package var endedLeases = 0
        /// Requests deferred, as all members together have used up the provider's budget.
        package var deferred = 0
        /// The number of members.
        package var members = 0
        /// Requests that began while Redis was not used.
        package var alone = 0
        /// Calls to Redis without a reply within `fleet.read-timeout`.
        package var timeouts = 0
        /// Calls that Redis refused, and values that were refused.
        package var invalid = 0
        /// Answers that were shared.
        package var published = 0
        /// Answers that were not shared, because Redis was not in use, did not read, or refused them.
        package var unpublished = 0
        /// Values that were refused, by reason.
        package var refused: [String: Int] = [:]

        package init() {}

        package enum CodingKeys: String, CodingKey {
            case answers, awaited, made, leases, alone, timeouts, invalid, deferred, published, unpublished, refused,
                trips, members
            case inUse = "in_use"
            case endedLeases = "ended_leases"
        }
    }
}

extension StatsReport.Fleet {
    static let metrics: [MetricFamily<Self>] = [
        .gauge("fleet_in_use", "1 if Redis is used for the fleet, otherwise 0.") { $0.inUse },
        .gauge("fleet_members", "Members of the fleet, as far as Redis has told.") { $0.members },
        .counter("fleet_trips", "How often Redis was switched off.") { $0.trips },
        .counter("fleet_fetches", "Questions for providers, by what the fleet did for them.", by: "result") {
            [
                "answer": $0.answers, "awaited": $0.awaited, "lease": $0.leases, "ended-lease": $0.endedLeases,
                "alone": $0.alone, "timeout": $0.timeouts, "invalid": $0.invalid, "deferred": $0.deferred,
            ] as KeyValuePairs
        },
        .counter("fleet_published", "Answers shared with the fleet.") { $0.published },
        .counter(
            "fleet_unpublished", "Answers not shared, because Redis was not in use, did not read, or refused them."
        ) { $0.unpublished },
        .counter("fleet_refused", "Values of the fleet that were refused, by reason.", by: "reason") { $0.refused },
    ]
}
