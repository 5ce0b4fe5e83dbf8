// `explain`: how and why the daemon answers a question, and what the next query will cause. A terminal and dig show the
// same lines.

package struct ExplainReport: Report, Codable, Equatable {
    /// The name without the final dot.
    package var name: String
    package var type: String
    // The values of `stage`, as keys of their own in JSON.
    private var partition: Int?
    private var order: String?
    private var probe: String?
    /// Why a captive portal is suspected; nil if none is.
    package var portal: String?
    /// The upstreams that the question goes to, and why.
    package var route = ""
    /// The names of the matching rules, the longest first, and their combined settings.
    package var rules: [String] = []
    package var ruleSays: [String] = []
    /// The origins of these rules.
    package var ruleOrigins: [String] = []
    /// The cache entries, the provider's before the system resolver's.
    package var entries: [Entry] = []
    /// Which member of the fleet gave the last provider's answer, and when; nil: none.
    package var fleet: String?
    /// The last answers and failures of the sources, the most recent first.
    package var sources: [SourceAnswer] = []
    package var addresses: [AddressReport] = []
    /// When and for how long the expired answer is served.
    package var expired = ""
    package var failure: Failure?
    /// Why the system resolver answered instead of a provider, most recently.
    package var lastSubstitute: String?
    /// Who denies the last known good answer, and until when it is given; nil: none does.
    package var doubt: String?
    /// The state of the refresh; nil if the daemon runs and no demand is recorded.
    package var refresh: String?
    package var next: [String] = []
    /// Recent events about the name, the most recent last.
    package var lately: [String] = []

    package static let maxLately = 5
    /// The only entry of `lately` if nothing is recorded.
    package static let recorderIsOff = "the flight recorder is off ([log] recorder)"

    package init(name: String, type: String, stage: Stage) {
        self.name = name
        self.type = type
        self.stage = stage
    }

    /// The origin of the explanation, with the facts that only this origin has.
    package enum Stage: Equatable, Sendable {
        /// A running daemon, which answers from this partition of its cache. The order in force has its reason; nil:
        /// providers first, as by default.
        case running(partition: Int, order: String? = nil)
        /// The check of settings before a start, without network and cache. It has the upstreams that one query may
        /// ask, in their order, and the addresses that will be probed. Nil if the daemon itself would answer.
        case check(order: String?, probe: String?)
    }

    package var stage: Stage {
        get { partition.map { .running(partition: $0, order: order) } ?? .check(order: order, probe: probe) }
        set {
            switch newValue {
            case .running(let partition, let order): (self.partition, self.order, probe) = (partition, order, nil)
            case .check(let order, let probe): (partition, self.order, self.probe) = (nil, order, probe)
            }
        }
    }

    package enum CodingKeys: String, CodingKey {
        case name, type, partition, portal, route, order, rules, entries, fleet, sources, addresses, probe, expired
        case failure, doubt, refresh, next, lately
        case ruleSays = "rule_says"
        case ruleOrigins = "rule_origins"
        case lastSubstitute = "stood_in"
    }

    /// A cache entry.
    package struct Entry: Codable, Equatable, Sendable {
        package enum State: String, Codable, Sendable {
            case fresh, due, expired, gone
        }

        package var state: State
        package var rcode: String
        /// RDATA of the records, in their order.
        package var records: [String] = []
        package var ageSeconds = 0
        package var lifetimeSeconds = 0
        package var hits = 0
        /// The kind of upstream: "provider" or "system".
        package var provenance: String
        /// The source; nil if it is no longer known.
        package var source: String?
        /// The TTL in the source's answer.
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

    /// The last answer or failure of one source.
    package struct SourceAnswer: Codable, Equatable, Sendable {
        package var source: String
        package var ageSeconds: Int
        package var milliseconds: Int?
        package var ttlSeconds: Int?
        /// The kind of a negative answer, such as "no data". Nil for an answer with records and for a failure.
        package var negative: String?
        package var addresses: [String] = []
        /// Addresses that a public name must not have; they were removed.
        package var filtered: [String] = []
        /// The text of the block that the answer is; nil: it is none.
        package var block: String?
        /// How the answer contradicts a rule's expect; nil if it does not. A contradicting answer was not used.
        package var contradiction: String?
        /// Whether the answer has the same addresses as the entry; nil if there is nothing to compare.
        package var agrees: Bool?
        /// Whether the entry was made from this answer.
        package var isKept = false
        package var failure: String?

        package init(source: String, ageSeconds: Int) {
            self.source = source
            self.ageSeconds = ageSeconds
        }

        package enum CodingKeys: String, CodingKey {
            case source, negative, addresses, filtered, block, contradiction, agrees, failure
            case ageSeconds = "age_s"
            case milliseconds = "ms"
            case ttlSeconds = "ttl_s"
            case isKept = "kept"
        }
    }

    /// A cached failure: upstreams are not asked again for this long.
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
