// `inflight`: the lookups that are under way, the oldest first.

package struct InflightReport: Codable, Equatable, Sendable {
    /// All there are.
    package var total: Int
    /// The oldest, no more than `maxShown`.
    package var lookups: [Lookup] = []

    /// Some pages; a daemon that has more under way is in a trouble that these show as well.
    package static let maxShown = 256

    package init(total: Int) {
        self.total = total
    }

    package struct Lookup: Codable, Equatable, Sendable {
        /// Without the final dot.
        package var name: String
        package var type: String
        package var ageMilliseconds: Int
        /// Clients that wait.
        package var waiters: Int
        /// Begun for the cache, and not for a client.
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
        return "\(name) \(type) \(ageMilliseconds) ms, for a \(purpose), \(counted(waiters, "waits", "wait")), "
            + (asked.isEmpty ? "nobody is asked" : "asks \(asked)")
    }
}
