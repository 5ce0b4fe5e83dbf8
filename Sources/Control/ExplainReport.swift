// `explain`: why a question is answered as it is, and what the next one will do. Facts and short sentences; what they
// come to as lines is the same for a terminal and for dig.

package struct ExplainReport: Codable, Equatable, Sendable {
    /// Without the final dot.
    package var name: String
    package var type: String
    /// The number of the part of the cache that is looked at.
    package var partition = 0
    /// Nil while none is suspected.
    package var portal: String?
    /// Whom the question goes to, and why.
    package var route = ""
    /// The names of the rules that match, the longest first, and what they say together.
    package var rules: [String] = []
    package var ruleSays: [String] = []
    /// A provider's before the system resolver's.
    package var entries: [Entry] = []
    /// The latest first.
    package var sources: [Said] = []
    package var addresses: [AddressReport] = []
    /// When, and for how long, its expired answer is used.
    package var expired = ""
    package var failure: Failure?
    /// Why the system resolver's answer was given in place of a provider's, the last time.
    package var standIn: String?
    /// Nil where nothing is known of its use.
    package var refresh: String?
    package var next: [String] = []
    /// What happened to it, the latest last.
    package var lately: [String] = []

    package static let maxLately = 5

    package init(name: String, type: String) {
        self.name = name
        self.type = type
    }

    package enum CodingKeys: String, CodingKey {
        case name, type, partition, portal, route, rules, entries, sources, addresses, expired, failure, refresh, next
        case lately
        case ruleSays = "rule_says"
        case standIn = "stood_in"
    }

    /// What the cache holds.
    package struct Entry: Codable, Equatable, Sendable {
        package enum State: String, Codable, Sendable {
            case fresh, due, expired, gone
        }

        package var state: State
        package var rcode: String
        /// Data of the records, in their order.
        package var records: [String] = []
        package var ageSeconds = 0
        package var lifetimeSeconds = 0
        package var hits = 0
        /// "provider" or "system".
        package var provenance: String
        /// Nil where that is not known any more.
        package var source: String?
        /// As the source said it.
        package var serverTTLSeconds: Int?

        package init(state: State, rcode: String, provenance: String) {
            self.state = state
            self.rcode = rcode
            self.provenance = provenance
        }

        package enum CodingKeys: String, CodingKey {
            case state, rcode, records, hits, provenance, source
            case ageSeconds = "age_s"
            case lifetimeSeconds = "lifetime_s"
            case serverTTLSeconds = "server_ttl_s"
        }
    }

    /// What one source said last, or how it failed.
    package struct Said: Codable, Equatable, Sendable {
        package var source: String
        package var ageSeconds: Int
        package var milliseconds: Int?
        package var ttlSeconds: Int?
        /// "no data" and the like; nil for records and failures.
        package var negative: String?
        package var addresses: [String] = []
        /// Those that no public name may have.
        package var filtered: [String] = []
        /// Whether it led to the same addresses as the entry; nil where there is nothing to compare.
        package var agrees: Bool?
        /// The entry was kept from this.
        package var isKept = false
        package var failure: String?

        package init(source: String, ageSeconds: Int) {
            self.source = source
            self.ageSeconds = ageSeconds
        }

        package enum CodingKeys: String, CodingKey {
            case source, negative, addresses, filtered, agrees, failure
            case ageSeconds = "age_s"
            case milliseconds = "ms"
            case ttlSeconds = "ttl_s"
            case isKept = "kept"
        }
    }

    /// It is not asked again for so long.
    package struct Failure: Codable, Equatable, Sendable {
        package var reason: String
        package var leftSeconds: Int

        package init(reason: String, leftSeconds: Int) {
            self.reason = reason
            self.leftSeconds = leftSeconds
        }

        package enum CodingKeys: String, CodingKey {
            case reason
            case leftSeconds = "left_s"
        }
    }
}
