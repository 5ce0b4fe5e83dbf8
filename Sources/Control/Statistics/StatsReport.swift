// The counters of `stats`. Operators' scripts rely on every key: keys may be added, never changed.

import DNSWire

package struct StatsReport: Codable, Equatable, Sendable {
    package var schema = 1
    package var version = programVersion
    package var uptimeSeconds = 0
    package var queries = Queries()
    package var responses = Responses()
    /// Responses by the name of the response code.
    package var rcodes: [String: Int] = [:]
    /// Queries without a response, by reason.
    package var dropped: [String: Int] = [:]
    package var blocked = Blocked()
    package var inflight = 0
    /// Responses over UDP that the socket did not accept: the link was full, or there was no route.
    package var unsent = 0
    /// Datagrams that the kernel dropped before the daemon read them, mostly because the receive buffer was full. They
    /// are not counted as queries.
    package var udpReceiveErrors = 0
    package var connections = Connections()
    package var latencyMicroseconds = Latency()
    /// Duration histograms, by the names in `latency_us`.
    package var durations: [String: Histogram] = [:]
    package var cache = Cache()
    package var prefetch = Prefetch()
    package var shares = Shares()
    /// Expired answers that were served, by reason.
    package var stale: [String: Int] = [:]
    package var store = Store()
    package var providers: [Provider] = []
    /// The operator's nameservers, with "dns" as dialect.
    package var nameservers: [Provider] = []
    package var system = System()
    package var probe = Probe()
    package var network = Network()
    package var notify: [Receiver] = []
    /// The counters of nftables sets; nil without rules that name sets.
    package var nftset: NFTSets?
    /// The counters of the fleet; nil without [fleet].
    package var fleet: Fleet?
    package var pages = Pages()
    package var log = Log()
    package var files = Files()
    package var process = Process()

    package init() {}

    /// Parses an answer to `stats --json`. Nil for any other text.
    package init?(answer: [UInt8]) {
        guard let report: StatsReport = decoded(String(decoding: answer, as: UTF8.self)) else { return nil }
        self = report
    }

    /// Whether every query is answered, dropped or in flight, and counted exactly once.
    package var isBalanced: Bool {
        queries.total == responses.sum + dropped.values.reduce(0, +) + inflight
    }

    package enum CodingKeys: String, CodingKey {
        case schema, version, queries, responses, rcodes, dropped, blocked, inflight, unsent, durations, cache,
            prefetch, shares, stale, store, providers, nameservers, system, probe, network, notify, nftset, fleet,
            pages,
            log, files, process
        case connections = "tcp"
        case udpReceiveErrors = "udp_rcvbuf_errors"
        case uptimeSeconds = "uptime_s"
        case latencyMicroseconds = "latency_us"
    }

    package struct Queries: Codable, Equatable, Sendable {
        package var total = 0
        package var udp = 0
        package var tcp = 0
        package init() {}
    }

    /// TCP connections of clients.
    package struct Connections: Codable, Equatable, Sendable {
        package var open = 0
        /// Connections closed on arrival: the client is not allowed, or no file descriptor was left.
        package var refused = 0
        /// Connections closed to make room for a new one.
        package var evicted = 0
        package init() {}
    }

    /// Responses by the source of the answer.
    package struct Responses: Codable, Equatable, Sendable {
        package var cache = 0
        package var stale = 0
        package var provider = 0
        package var system = 0
        package var local = 0
        /// Responses by a rule that blocks the name.
        package var blocked = 0
        /// Responses with the fallback addresses of a rule, after all upstreams failed.
        package var fallback = 0
        package var refused = 0
        package var failure = 0
        /// Responses to clients over their rate limit, which tell them to retry over TCP or with a cookie.
        package var limited = 0
        package init() {}

        package var sum: Int {
            cache + stale + provider + system + local + blocked + fallback + refused + failure + limited
        }
    }

    /// Blocked answers.
    package struct Blocked: Codable, Equatable, Sendable {
        /// Blocked answers by the name in a rule's `match`.
        package var rules: [String: Int] = [:]
        /// Blocked answers by the path of a list.
        package var lists: [String: Int] = [:]
        /// Blocked answers by further rules, beyond the first 256 rules and lists that blocked a name.
        package var others = 0
        package init() {}
    }

    /// Response times by the source of the answer.
    package struct Latency: Codable, Equatable, Sendable {
        package var cache = Percentiles()
        package var stale = Percentiles()
        package var provider = Percentiles()
        package var system = Percentiles()
        package init() {}
    }

    /// A duration histogram. Histograms can be summed, as all have the same buckets.
    package struct Histogram: Codable, Equatable, Sendable {
        /// The upper bounds of the buckets, included: 1 us to 8.4 s, each twice the previous one.
        package static let boundsMicroseconds = (0..<24).map { 1 << $0 }

        /// Counts per bucket, not cumulative. The last bucket has no upper bound.
        package var counts = [Int](repeating: 0, count: boundsMicroseconds.count + 1)
        package var sumMicroseconds = 0
        package init() {}

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

    package struct Cache: Codable, Equatable, Sendable {
        package var entries = 0
        package var bytes = 0
        /// The setting `cache.size`.
        package var limitBytes = 0
        package var hits = 0
        package var misses = 0
        package var insertions = 0
        package var evictions = 0
        package init() {}

        package enum CodingKeys: String, CodingKey {
            case entries, bytes, hits, misses, insertions, evictions
            case limitBytes = "limit_bytes"
        }
    }

    /// Lookups and requests that ended because their domain or client exceeded its share of the places.
    package struct Shares: Codable, Equatable, Sendable {
        package var lookupsDisplaced = 0
        package var requestsDisplaced = 0
        /// Requests to providers that timed out while waiting for a place.
        package var requestsExpired = 0
        package init() {}

        package enum CodingKeys: String, CodingKey {
            case lookupsDisplaced = "lookups_displaced"
            case requestsDisplaced = "requests_displaced"
            case requestsExpired = "requests_expired"
        }
    }

    /// Answers fetched before they expired. A refresh that neither succeeded nor failed is in flight.
    package struct Prefetch: Codable, Equatable, Sendable {
        package var started = 0
        package var succeeded = 0
        package var failed = 0
        /// Prefetched answers that were served to a client.
        package var used = 0
        package init() {}
    }

    /// The persistent cache file. All 0 if there is none.
    package struct Store: Codable, Equatable, Sendable {
        /// Answers that were loaded at startup.
        package var loaded = 0
        package var written = 0
        package var batches = 0
        /// Batches that could not be written, and the answers in them.
        package var failures = 0
        package var dropped = 0
        /// Notes that the store refused, since it holds its maximum of notes.
        package var refusedNotes = 0
        package init() {}

        package enum CodingKeys: String, CodingKey {
            case loaded, written, batches, failures, dropped
            case refusedNotes = "refused_notes"
        }
    }

    package struct System: Codable, Equatable, Sendable {
        package var requests = 0
        package var failures = 0
        /// Lookups that the system resolver answered instead of the providers, by reason.
        package var stoodIn: [String: Int] = [:]
        /// Messages that did not match the query: late, damaged or forged.
        package var foreignReplies = 0
        /// Messages that were not sent because too many nameserver sockets were open.
        package var refusedExchanges = 0
        /// The daemon's checks for loops that came back to it. They are not queries of clients.
        package var returnedChecks = 0
        /// Number of times that the system resolver returned an address that failed its probe while another source's
        /// address was verified.
        package var divergences = 0
        /// Answers that contradicted a rule's expect and were treated as forged.
        package var contradictions = 0
        /// Credibility of the system resolver's answers, from 0 to 1; 1 until a forgery is recorded.
        package var trust = 1.0
        /// The nameservers, each "ADDR:PORT".
        package var servers: [String] = []
        /// Nameservers that forward back to this daemon and are therefore not asked, "ADDR:PORT".
        package var looping: [String] = []
        package init() {}

        package enum CodingKeys: String, CodingKey {
            case requests, failures, divergences, contradictions, trust, servers, looping
            case foreignReplies = "foreign_replies"
            case stoodIn = "stood_in"
            case returnedChecks = "returned_checks"
            case refusedExchanges = "refused_exchanges"
        }
    }

    /// The HTTP listener. All 0 if there is none.
    package struct Pages: Codable, Equatable, Sendable {
        package var requests = 0
        /// Connections that were closed because there were too many, or they took too long.
        package var cut = 0
        package init() {}
    }

    package struct Files: Codable, Equatable, Sendable {
        /// Files with names whose present contents are not in force, and accounts that are left out because of a fault.
        package var faulty = 0
        package init() {}
    }

    package struct Log: Codable, Equatable, Sendable {
        /// Lines that were not written: standard error was not read in time, or its disk was full.
        package var dropped = 0
        package init() {}
    }

    package struct Process: Codable, Equatable, Sendable {
        package var residentBytes = 0
        /// Private memory without mapped files.
        package var anonymousBytes = 0
        package var openDescriptors = 0
        /// The limit of open descriptors (RLIMIT_NOFILE); the bounds on sockets follow from it.
        package var descriptorLimit = 0
        package var threads = 0
        /// The times of the start and of the last change of settings, by the wall clock in seconds since 1970.
        package var startSeconds = 0
        package var settingsSeconds = 0
        package init() {}

        package enum CodingKeys: String, CodingKey {
            case threads
            case startSeconds = "start_time_s"
            case settingsSeconds = "settings_time_s"
            case residentBytes = "rss_bytes"
            case anonymousBytes = "anon_bytes"
            case openDescriptors = "open_fds"
            case descriptorLimit = "max_fds"
        }
    }
}

extension StatsReport {
    package struct Provider: Codable, Equatable, Sendable {
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
        package var usesProxy = false
        /// Comparison of a shadow provider's answers; nil for a provider whose answers are used.
        package var shadow: Shadow?
        /// The billed questions; nil for a provider without an account and without a quota.
        package var billed: Billed?

        package init(name: String, dialect: String, state: String) {
            self.name = name
            self.dialect = dialect
            self.state = state
        }

        package enum CodingKeys: String, CodingKey {
            case name, dialect, state, share, success, requests, names, failures, results, divergences,
                contradictions, trust, durations, connections, addresses, shadow, billed
            case retrySeconds = "retry_s"
            case latencyMilliseconds = "latency_ms"
            case clockOffsetMilliseconds = "clock_offset_ms"
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
