// The numbers of `stats`, with the key names that scripts rely on. Keys are added, never renamed.

package struct StatsReport: Codable, Equatable, Sendable {
    package var schema = 1
    package var version = Version.current
    package var uptimeSeconds = 0
    package var queries = Queries()
    package var responses = Responses()
    package var rcodes: [String: UInt64] = [:]
    package var dropped: [String: UInt64] = [:]
    package var inflight: UInt64 = 0
    package var latencyMicroseconds: [String: Percentiles] = [:]
    package var cache = Cache()
    package var providers: [Provider] = []
    package var system = System()
    package var process = Process()

    package init() {}

    /// Every query is answered, dropped or in flight, and counted once.
    package var isBalanced: Bool {
        queries.total == responses.sum + dropped.values.reduce(0, +) + inflight
    }

    package struct Queries: Codable, Equatable, Sendable {
        package var total: UInt64 = 0
        package var udp: UInt64 = 0
        package var tcp: UInt64 = 0
    }

    package struct Responses: Codable, Equatable, Sendable {
        package var cache: UInt64 = 0
        package var stale: UInt64 = 0
        package var provider: UInt64 = 0
        package var system: UInt64 = 0
        package var local: UInt64 = 0
        package var refused: UInt64 = 0
        package var failure: UInt64 = 0

        package var sum: UInt64 { cache + stale + provider + system + local + refused + failure }
    }

    package struct Percentiles: Codable, Equatable, Sendable {
        package var p50: Int
        package var p95: Int
        package var p99: Int

        package init(p50: Int, p95: Int, p99: Int) {
            self.p50 = p50
            self.p95 = p95
            self.p99 = p99
        }
    }

    package struct Cache: Codable, Equatable, Sendable {
        package var entries = 0
        package var bytes = 0
        package var hits: UInt64 = 0
        package var misses: UInt64 = 0
        package var insertions: UInt64 = 0
        package var evictions: UInt64 = 0
    }

    package struct Provider: Codable, Equatable, Sendable {
        package struct Latency: Codable, Equatable, Sendable {
            package var p50 = 0
            package var p95 = 0
        }

        package struct Connections: Codable, Equatable, Sendable {
            package var open = 0
            package var opened = 0
            package var reused = 0
        }

        package var name = ""
        package var dialect = ""
        /// "up", or "down" after a failure and until the next answer.
        package var state = "up"
        package var requests: UInt64 = 0
        /// Names asked for; more than requests where a dialect takes several at once.
        package var names: UInt64 = 0
        package var failures: [String: UInt64] = [:]
        package var latencyMilliseconds = Latency()
        package var connections = Connections()

        package init() {}

        enum CodingKeys: String, CodingKey {
            case name, dialect, state, requests, names, failures, connections
            case latencyMilliseconds = "latency_ms"
        }
    }

    package struct System: Codable, Equatable, Sendable {
        package var requests: UInt64 = 0
        package var failures: UInt64 = 0
        package var servers: [String] = []
    }

    package struct Process: Codable, Equatable, Sendable {
        package var residentBytes = 0
        package var openDescriptors = 0
        package var threads = 0

        enum CodingKeys: String, CodingKey {
            case threads
            case residentBytes = "rss_bytes"
            case openDescriptors = "open_fds"
        }
    }

    enum CodingKeys: String, CodingKey {
        case schema, version, queries, responses, rcodes, dropped, inflight, cache, providers, system, process
        case uptimeSeconds = "uptime_s"
        case latencyMicroseconds = "latency_us"
    }
}

extension StatsReport {
    package var json: String { JSONLine.render(self) }

    /// One "key value" per line, keys as in the JSON, joined with dots and aligned.
    package var text: String {
        var lines: [(String, String)] = [("version", version), ("uptime_s", "\(uptimeSeconds)")]
        lines += [
            ("queries.total", "\(queries.total)"), ("queries.udp", "\(queries.udp)"), ("queries.tcp", "\(queries.tcp)"),
        ]
        lines += [
            ("responses.cache", responses.cache), ("responses.stale", responses.stale),
            ("responses.provider", responses.provider), ("responses.system", responses.system),
            ("responses.local", responses.local), ("responses.refused", responses.refused),
            ("responses.failure", responses.failure),
        ].map { ($0.0, "\($0.1)") }
        lines += rcodes.sorted { $0.key < $1.key }.map { ("rcodes.\($0.key)", "\($0.value)") }
        lines += dropped.sorted { $0.key < $1.key }.map { ("dropped.\($0.key)", "\($0.value)") }
        lines += [("inflight", "\(inflight)")]
        for (source, latency) in latencyMicroseconds.sorted(by: { $0.key < $1.key }) {
            lines += [
                ("latency_us.\(source).p50", "\(latency.p50)"), ("latency_us.\(source).p95", "\(latency.p95)"),
                ("latency_us.\(source).p99", "\(latency.p99)"),
            ]
        }
        lines += cacheLines + providers.flatMap(providerLines) + systemLines
        let width = lines.map(\.0.count).max() ?? 0
        return lines.map { $0.0 + String(repeating: " ", count: width + 2 - $0.0.count) + $0.1 + "\n" }.joined()
    }

    private var cacheLines: [(String, String)] {
        [
            ("cache.entries", "\(cache.entries)"), ("cache.bytes", "\(cache.bytes)"), ("cache.hits", "\(cache.hits)"),
            ("cache.misses", "\(cache.misses)"), ("cache.insertions", "\(cache.insertions)"),
            ("cache.evictions", "\(cache.evictions)"),
        ]
    }

    private func providerLines(_ provider: Provider) -> [(String, String)] {
        let key = "providers.\(provider.name)"
        return [
            ("\(key).dialect", provider.dialect), ("\(key).state", provider.state),
            ("\(key).requests", "\(provider.requests)"), ("\(key).names", "\(provider.names)"),
        ]
            + provider.failures.sorted { $0.key < $1.key }.map { ("\(key).failures.\($0.key)", "\($0.value)") }
            + [
                ("\(key).latency_ms.p50", "\(provider.latencyMilliseconds.p50)"),
                ("\(key).latency_ms.p95", "\(provider.latencyMilliseconds.p95)"),
                ("\(key).connections.open", "\(provider.connections.open)"),
                ("\(key).connections.opened", "\(provider.connections.opened)"),
                ("\(key).connections.reused", "\(provider.connections.reused)"),
            ]
    }

    private var systemLines: [(String, String)] {
        [
            ("system.requests", "\(system.requests)"), ("system.failures", "\(system.failures)"),
            ("system.servers", system.servers.joined(separator: " ")),
            ("process.rss_bytes", "\(process.residentBytes)"), ("process.open_fds", "\(process.openDescriptors)"),
            ("process.threads", "\(process.threads)"),
        ]
    }
}
