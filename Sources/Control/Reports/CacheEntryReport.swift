// One cache entry, as text and JSON. Times are in whole seconds.

package struct CacheEntryReport: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable {
        case fresh, expired
    }

    /// The name without the final dot.
    package var name: String
    package var type: String
    /// The name of the response code.
    package var rcode: String
    package var state = State.fresh
    /// Time until the entry expires; zero or negative once it has expired.
    package var ttlSeconds = 0
    package var ageSeconds = 0
    package var lifetimeSeconds = 0
    /// The kind of upstream that answered: "provider" or "system".
    package var provenance = ""
    /// The upstream that answered: a provider's name or "system"; nil if the source was forgotten or the entry precedes
    /// this process.
    package var source: String?
    /// The number of the network on which the entry was learned.
    package var partition = 0
    package var hits = 0
    /// The records; nil unless requested.
    package var records: [Record]?

    package init(name: String, type: String, rcode: String) {
        self.name = name
        self.type = type
        self.rcode = rcode
    }

    package enum CodingKeys: String, CodingKey {
        case name, type, rcode, state, provenance, source, partition, hits, records
        case ttlSeconds = "ttl_s"
        case ageSeconds = "age_s"
        case lifetimeSeconds = "lifetime_s"
    }

    package struct Record: Codable, Equatable, Sendable {
        /// The owner name with the final dot.
        package let name: String
        /// The TTL that a client would get now.
        package let ttlSeconds: Int
        package let type: String
        /// RDATA in presentation form.
        package let data: String

        package init(name: String, ttlSeconds: Int, type: String, data: String) {
            self.name = name
            self.ttlSeconds = ttlSeconds
            self.type = type
            self.data = data
        }

        package enum CodingKeys: String, CodingKey {
            case name, type, data
            case ttlSeconds = "ttl_s"
        }
    }
}

extension CacheEntryReport {
    /// Returns the entry as whole lines.
    func text(as view: CacheView) -> String {
        switch view {
        case .list: return "\(line)\n"
        case .get:
            let facts =
                "age \(ageSeconds) s of \(lifetimeSeconds) s, hits \(hits), network \(LineFormat.network(partition))"
            return "\(line)\n  \(facts)\n" + (records ?? []).map { "  \($0.line)\n" }.joined()
        case .dump:
            // Each line repeats the entry's facts, so that lines found with grep are self-explanatory.
            guard let records, !records.isEmpty else { return "; \(line)\n" }
            return records.map { "\($0.line) ; \(line)\n" }.joined()
        }
    }

    /// The columns of `line`, as a comment.
    static let header = "; name type state ttl source rcode\n"

    private var line: String { "\(name) \(type) \(state) \(ttlSeconds) \(source ?? provenance) \(rcode)" }
}

extension CacheEntryReport.Record {
    var line: String { "\(name) \(ttlSeconds) IN \(type) \(data)" }
}
