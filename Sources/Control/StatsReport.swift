// The counters of `stats`. Operators' scripts rely on every key: add some, change none.

package struct StatsReport: Codable, Equatable, Sendable {
    package var schema = 1
    package var version = programVersion
    package var uptimeSeconds = 0
    package var queries = Queries()
    package var responses = Responses()
    /// By the name of the response code.
    package var rcodes: [String: Int] = [:]
    /// By reason: queries that get no response.
    package var dropped: [String: Int] = [:]
    package var inflight = 0
    /// Responses over UDP that the socket did not take: the link was full, or there was no route.
    package var unsent = 0
    /// Datagrams to us that the kernel dropped, mostly because we had not fetched those before them: no queries yet.
    package var udpReceiveErrors = 0
    package var connections = Connections()
    package var latencyMicroseconds = Latency()
    /// By the names in `latency_us`.
    package var durations: [String: Histogram] = [:]
    package var cache = Cache()
    package var prefetch = Prefetch()
    package var shares = Shares()
    /// Expired answers by why they were given.
    package var stale: [String: Int] = [:]
    package var store = Store()
    package var providers: [Provider] = []
    package var system = System()
    package var probe = Probe()
    package var network = Network()
    package var pages = Pages()
    package var process = Process()

    package init() {}

    /// Every query was answered, was dropped, or is still waiting: nothing is lost and nothing counted twice.
    package var isBalanced: Bool {
        queries.total == responses.sum + dropped.values.reduce(0, +) + inflight
    }

    package enum CodingKeys: String, CodingKey {
        case schema, version, queries, responses, rcodes, dropped, inflight, unsent, durations, cache, prefetch, shares,
            stale, store, providers, system, probe, network, pages, process
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

    /// Of clients, over TCP.
    package struct Connections: Codable, Equatable, Sendable {
        package var open = 0
        /// Closed on arrival: from a client that may not ask, or without a descriptor for it.
        package var refused = 0
        /// Closed to make room for a new connection.
        package var evicted = 0
        package init() {}
    }

    /// By where the answer came from.
    package struct Responses: Codable, Equatable, Sendable {
        package var cache = 0
        package var stale = 0
        package var provider = 0
        package var system = 0
        package var local = 0
        /// A rule's addresses, when all else had failed.
        package var fallback = 0
        package var refused = 0
        package var failure = 0
        /// Of clients over their limit: to ask again over TCP, or with a cookie.
        package var limited = 0
        package init() {}

        package var sum: Int { cache + stale + provider + system + local + fallback + refused + failure + limited }
    }

    /// Of responses, by where the answer came from.
    package struct Latency: Codable, Equatable, Sendable {
        package var cache = Percentiles()
        package var stale = Percentiles()
        package var provider = Percentiles()
        package var system = Percentiles()
        package init() {}
    }

    /// The durations themselves, for those who sum and draw. The same buckets everywhere.
    package struct Histogram: Codable, Equatable, Sendable {
        /// The upper bounds of the buckets, included: 1 us to 8.4 s, each twice the one before.
        package static let boundsMicroseconds = (0..<24).map { 1 << $0 }

        /// What was in each bucket alone; one more than the bounds, for what took longer.
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
        package var hits = 0
        package var misses = 0
        package var insertions = 0
        package var evictions = 0
        package init() {}
    }

    /// Answers fetched before they expired. What is neither succeeded nor failed is under way.
    /// What ended because its domain or client had more than its share of the places.
    package struct Shares: Codable, Equatable, Sendable {
        package var lookupsDisplaced = 0
        package var requestsDisplaced = 0
        /// Requests to providers that waited for a place in vain.
        package var requestsExpired = 0
        package init() {}

        package enum CodingKeys: String, CodingKey {
            case lookupsDisplaced = "lookups_displaced"
            case requestsDisplaced = "requests_displaced"
            case requestsExpired = "requests_expired"
        }
    }

    package struct Prefetch: Codable, Equatable, Sendable {
        package var started = 0
        package var succeeded = 0
        package var failed = 0
        /// Of those that succeeded, the ones that a client got.
        package var used = 0
        package init() {}
    }

    /// The file that outlives the process. All 0 when there is none.
    package struct Store: Codable, Equatable, Sendable {
        /// Answers that came back at the start.
        package var loaded = 0
        package var written = 0
        package var batches = 0
        /// Batches that could not be written, and answers that were lost to the file with them.
        package var failures = 0
        package var dropped = 0
        /// Notes that found no room in it.
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
        /// Lookups in which it answered in place of the providers, by reason.
        package var stoodIn: [String: Int] = [:]
        /// Messages that were no reply to the query they came for: late, damaged or forged.
        package var foreignReplies = 0
        /// Messages that were not sent because too many sockets were open to nameservers.
        package var refusedExchanges = 0
        /// Times that it led to somebody else's address, and another source did not.
        package var divergences = 0
        /// How far its word is believed, from 0 to 1; 1 while it was never found out.
        package var trust = 1.0
        /// "ADDR:PORT"
        package var servers: [String] = []
        /// Of the same form: those that are not asked because they lead back to us.
        package var looping: [String] = []
        package init() {}

        package enum CodingKeys: String, CodingKey {
            case requests, failures, divergences, trust, servers, looping
            case foreignReplies = "foreign_replies"
            case stoodIn = "stood_in"
            case refusedExchanges = "refused_exchanges"
        }
    }

    /// Of the HTTP listener. All 0 when there is none.
    package struct Pages: Codable, Equatable, Sendable {
        package var requests = 0
        /// Connections that were closed because there were too many or it took too long.
        package var cut = 0
        package init() {}
    }

    package struct Process: Codable, Equatable, Sendable {
        package var residentBytes = 0
        package var openDescriptors = 0
        /// How many may be open (RLIMIT_NOFILE); the bounds on sockets follow from it.
        package var descriptorLimit = 0
        package var threads = 0
        /// By the wall clock of then, seconds since 1970: the start, and when settings were last put into force.
        package var startSeconds = 0
        package var settingsSeconds = 0
        package init() {}

        package enum CodingKeys: String, CodingKey {
            case threads
            case startSeconds = "start_time_s"
            case settingsSeconds = "settings_time_s"
            case residentBytes = "rss_bytes"
            case openDescriptors = "open_fds"
            case descriptorLimit = "max_fds"
        }
    }
}

extension StatsReport {
    package struct Provider: Codable, Equatable, Sendable {
        package var name: String
        package var dialect: String
        /// "up", "down", "throttled", "blocked", "over-budget" or "unmeasured".
        package var state: String
        /// Until it is asked again; nil: nothing is known to end.
        package var retrySeconds: Int?
        /// Of first choices, 0...1; nil while there are none.
        package var share: Double?
        /// Of requests, of late, 0...1; nil before the first.
        package var success: Double?
        package var requests = 0
        /// Requests may carry several names.
        package var names = 0
        /// By kind: timeout, tls, ...
        package var failures: [String: Int] = [:]
        /// Requests that ended: "success", or the kind of failure. A request that failed for some of its names only is
        /// a success, and among `failures` all the same.
        package var results: [String: Int] = [:]
        /// Times that it led to somebody else's address, and another source did not.
        package var divergences = 0
        /// How far its word is believed, from 0 to 1; 1 while it was never found out.
        package var trust = 1.0
        /// 0 while none was measured.
        package var latencyMilliseconds = Latency()
        /// From requests to replies that were of use.
        package var durations = Histogram()
        package var connections = Connections()
        package var addresses: [Address] = []
        /// Its clock less ours.
        package var clockOffsetMilliseconds = 0
        package var usesProxy = false
        /// Nil for a provider whose answers are used.
        package var shadow: Shadow?

        package init(name: String, dialect: String, state: String) {
            self.name = name
            self.dialect = dialect
            self.state = state
        }

        package enum CodingKeys: String, CodingKey {
            case name, dialect, state, share, success, requests, names, failures, results, divergences, trust,
                durations, connections, addresses, shadow
            case retrySeconds = "retry_s"
            case latencyMilliseconds = "latency_ms"
            case clockOffsetMilliseconds = "clock_offset_ms"
            case usesProxy = "proxy"
        }

        /// One that is dialled.
        package struct Address: Codable, Equatable, Sendable {
            /// "ADDR" or "ADDR:PORT"
            package var name: String
            package var state: String

            package init(_ name: String, state: String) {
                self.name = name
                self.state = state
            }
        }

        /// Its answers beside those that were used.
        package struct Shadow: Codable, Equatable, Sendable {
            package var asked = 0
            package var same = 0
            package var overlapping = 0
            package var different = 0
            package var failed = 0
            package init() {}
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
            /// Requests that an old connection failed and a fresh one answered.
            package var retried = 0
            package init() {}
        }
    }
}
