// `inflight`: the lookups in flight, the oldest first.

package struct InflightReport: Report, Codable, Equatable {
    /// The number of lookups in flight.
    package var total: Int
    /// The oldest lookups, at most `maxShown`.
    package var lookups: [Lookup] = []

    /// Maximum number of lookups shown: a few screens; with more lookups than that, the oldest ones show the problem.
    package static let maxShown = 256

    package init(total: Int) {
        self.total = total
    }

    package struct Lookup: Codable, Equatable, Sendable {
        /// The name without the final dot.
        package var name: String
        package var type: String
        package var ageMilliseconds: Int
        /// Clients that wait for the lookup.
        package var waiters: Int
        /// The lookup was started to refresh the cache, not for a client.
        package var isRefresh: Bool
        package var fetches: [Fetch]

        package init(
            name: String, type: String, ageMilliseconds: Int, waiters: Int, isRefresh: Bool, fetches: [Fetch]
        ) {
            self.name = name
            self.type = type
            self.ageMilliseconds = ageMilliseconds
            self.waiters = waiters
            self.isRefresh = isRefresh
            self.fetches = fetches
        }

        package enum CodingKeys: String, CodingKey {
            case name, type, waiters, fetches
            case ageMilliseconds = "age_ms"
            case isRefresh = "refresh"
        }
    }

    package struct Fetch: Codable, Equatable, Sendable {
        package var upstream: String
        package var ageMilliseconds: Int

        package init(upstream: String, ageMilliseconds: Int) {
            self.upstream = upstream
            self.ageMilliseconds = ageMilliseconds
        }

        package enum CodingKeys: String, CodingKey {
            case upstream
            case ageMilliseconds = "age_ms"
        }
    }
}

extension InflightReport {
    package var text: String {
        let left = total - lookups.count
        let end = left > 0 ? "and \(left) more\n" : ""
        return lookups.map { $0.line + "\n" }.joined() + "; \(counted(total, "lookup", "lookups"))\n" + end
    }
}

extension InflightReport.Lookup {
    fileprivate var line: String {
        let purpose = isRefresh ? "refresh" : "client"
        let asked = fetches.map { "\($0.upstream) \($0.ageMilliseconds) ms" }.joined(separator: ", ")
        return "\(name) \(type) \(ageMilliseconds) ms, for a \(purpose), \(counted(waiters, "waiter", "waiters")), "
            + (asked.isEmpty ? "asks no upstream" : "asks \(asked)")
    }
}
