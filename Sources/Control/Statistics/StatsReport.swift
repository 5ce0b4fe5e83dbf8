// The counters of `stats`. Operators' scripts rely on every key: keys may be added, never changed.

import DNSWire

/// The report: sections, which are types, and figures, which the daemon's table of metrics reads (`Metrics` in Daemon).
@dynamicMemberLookup
package struct StatsReport: Report, Codable, Equatable {
    /// The numbers and texts outside of the sections.
    package var figures = StatsTree.members([:])
    private var sections = Sections()

    /// Sources of answers whose latency is measured.
    static let sources = ["cache", "stale", "provider", "system"]

    package init() {}

    package init(from decoder: any Decoder) throws {
        sections = try Sections(from: decoder)
        let container = try decoder.container(keyedBy: FigureKey.self)
        for key in container.allKeys { figures[key.stringValue] = try container.decode(StatsTree.self, forKey: key) }
    }

    package func encode(to encoder: any Encoder) throws {
        try sections.encode(to: encoder)
        try figures.encode(to: encoder)
    }

    /// A number by its path, such as "cache.hits"; 0 if there is none.
    package subscript(path: String) -> Int {
        get { figures[path]?.number ?? 0 }
        set { figures[path] = .number(newValue) }
    }

    /// The numbers in a group, such as "responses".
    package subscript(group path: String) -> [String: Int] {
        get { figures[path]?.members.compactMapValues(\.number) ?? [:] }
        set { figures[path] = .members(newValue.mapValues { .number($0) }) }
    }

    package subscript<Section>(dynamicMember path: WritableKeyPath<Sections, Section>) -> Section {
        get { sections[keyPath: path] }
        set { sections[keyPath: path] = newValue }
    }

    /// The sum of numbers, or of all numbers in a group.
    func sum(_ paths: [String]) -> Int {
        paths.reduce(0) { $0 + (figures[$1]?.number ?? self[group: $1].values.reduce(0, +)) }
    }

    package struct Sections: Codable, Equatable, Sendable {
        /// Response times by the source of the answer.
        package var latencyMicroseconds: [String: Percentiles] = [:]
        /// Duration histograms, by the names in `latency_us`.
        package var durations: [String: Histogram] = [:]
        package var providers: [Provider] = []
        /// The operator's nameservers, with "dns" as dialect.
        package var nameservers: [Provider] = []
        package var notify: [Receiver] = []
        /// The counters of the fleet; nil without [fleet].
        package var fleet: Fleet?

        package enum CodingKeys: String, CodingKey {
            case durations, providers, nameservers, notify, fleet
            case latencyMicroseconds = "latency_us"
        }
    }

    /// A key outside of the sections.
    private struct FigureKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init?(stringValue: String) {
            guard Sections.CodingKeys(rawValue: stringValue) == nil else { return nil }
            self.stringValue = stringValue
        }

        init?(intValue: Int) { nil }
    }

    /// A duration histogram. Histograms can be summed, as all have the same buckets.
    package struct Histogram: Codable, Equatable, Sendable {
        /// The upper bounds of the buckets, included: 1 us to 8.4 s, each twice the previous one.
        package static let boundsMicroseconds = (0..<24).map { 1 << $0 }

        /// Counts per bucket, not cumulative. The last bucket has no upper bound.
        package var counts = [Int](repeating: 0, count: boundsMicroseconds.count + 1)
        package var sumMicroseconds = 0
        package init() {}

        /// - Parameter tree: the histogram as a figure.
        init(_ tree: StatsTree) {
            counts = (tree["counts"]?.list ?? []).compactMap(\.number)
            sumMicroseconds = tree["sum_us"]?.number ?? 0
        }

        var hasSome: Bool { counts.contains { $0 > 0 } }

        package enum CodingKeys: String, CodingKey {
            case counts
            case sumMicroseconds = "sum_us"
        }
    }

    package struct Percentiles: Codable, Equatable, Sendable {
        package var p50 = 0
        package var p95 = 0
        package var p99 = 0
        package init() {}
    }
}

extension StatsReport {
    package struct Provider: NamedEntry, Codable, Equatable, Sendable {
        package var name: String
        /// The dialect; "dns": a nameserver.
        package var dialect: String
        /// The state: "up", "down", "throttled", "blocked", "over-budget", "over-quota", "unmeasured" or "unresolved".
        package var state: String
        /// Seconds until the provider is asked again; nil if no end is known.
        package var retrySeconds: Int?
        /// Recent share of lookups that asked the provider first, 0...1; nil before its first request, and for a shadow
        /// provider.
        package var share: Double?
        /// Share of the last 64 requests that succeeded, 0...1; nil before the first request.
        package var success: Double?
        package var requests = 0
        /// Names that were asked for; a request may carry several.
        package var names = 0
        /// Failures by kind: timeout, tls, ...
        package var failures: [String: Int] = [:]
        /// Completed requests by result: "success" or the kind of failure, such as "server" for SERVFAIL or REFUSED. A
        /// request that failed only for some of its names counts as a success here, and in `failures` too.
        package var results: [String: Int] = [:]
        /// Number of times that the provider returned an address that failed its probe while another source's address
        /// was verified.
        package var divergences = 0
        /// Answers that contradicted a rule's expect and were treated as forged.
        package var contradictions = 0
        /// The settings say that the provider filters; nil for a nameserver, as `blocks`.
        package var filters: Bool?
        /// Blocks of the provider that clients or the cache got.
        package var blocks: Int?
        /// Credibility of the provider's answers, from 0 to 1; 1 until a forgery is recorded.
        package var trust = 1.0
        /// The latency; 0 before the first measurement.
        package var latencyMilliseconds = Latency()
        /// Durations from a request to a usable reply.
        package var durations = Histogram()
        package var connections = Connections()
        package var addresses: [Address] = []
        /// The provider's clock minus the daemon's clock.
        package var clockOffsetMilliseconds = 0
        /// The key exchange of the newest connection with TLS, such as "X25519MLKEM768"; nil if there was none.
        package var keyExchange: String?
        package var usesProxy = false
        /// Comparison of a shadow provider's answers; nil for a provider whose answers are used.
        package var shadow: Shadow?
        /// What its replies were worth; nil for a nameserver.
        package var audit: AuditedProvider?
        /// The billed questions; nil for a provider without an account and without a quota.
        package var billed: Billed?

        package init(name: String, dialect: String, state: String) {
            self.name = name
            self.dialect = dialect
            self.state = state
        }

        package enum CodingKeys: String, CodingKey {
            case name, dialect, state, share, success, requests, names, failures, results, divergences,
                contradictions, filters, blocks, trust, durations, connections, addresses, shadow, billed, audit
            case retrySeconds = "retry_s"
            case latencyMilliseconds = "latency_ms"
            case clockOffsetMilliseconds = "clock_offset_ms"
            case keyExchange = "key_exchange"
            case usesProxy = "proxy"
        }

        /// An address that the daemon connects to.
        package struct Address: Codable, Equatable, Sendable {
            /// The address: "ADDR" or "ADDR:PORT".
            package var name: String
            package var state: String

            package init(_ name: String, state: String) {
                self.name = name
                self.state = state
            }
        }

        /// How a shadow provider's answers compare with those that were used.
        package struct Shadow: Codable, Equatable, Sendable {
            package var asked = 0
            package var same = 0
            package var overlapping = 0
            package var different = 0
            package var failed = 0
            package init() {}
        }

        /// Questions that the vendor bills, one for each name and address family, by cause: client, refresh, hedge,
        /// measurement.
        package struct Billed: Codable, Equatable, Sendable {
            /// Questions since the last midnight, UTC.
            package var day: [String: Int] = [:]
            /// Questions since the first of the month, UTC.
            package var month: [String: Int] = [:]
            /// The quota as in the settings; nil: unlimited.
            package var quota: String?
            /// Used share of the quota, in a fleet by all members; above 1 if it was exceeded.
            package var quotaShare: Double?
            /// Questions of all members of the fleet in the period of the quota; nil: unknown.
            package var fleet: Int?
            package init() {}

            package enum CodingKeys: String, CodingKey {
                case day, month, quota, fleet
                case quotaShare = "quota_share"
            }
        }

        package struct Latency: Codable, Equatable, Sendable {
            package var p50 = 0
            package var p95 = 0
            package init() {}
        }

        package struct Connections: Codable, Equatable, Sendable {
            package var open = 0
            package var opened = 0
            package var reused = 0
            /// Requests that failed on an existing connection and succeeded on a new one.
            package var retried = 0
            package init() {}
        }
    }
}
