// The daemon's state in a few lines for a person, from the same numbers as `stats`.

package struct StatusReport: Codable, Equatable, Sendable {
    package var processID: Int32
    package var listeners: [String]
    package var stats: StatsReport

    package init(processID: Int32, listeners: [String], stats: StatsReport) {
        self.processID = processID
        self.listeners = listeners
        self.stats = stats
    }

    enum CodingKeys: String, CodingKey {
        case listeners, stats
        case processID = "pid"
    }

    package var json: String { JSONLine.render(self) }

    package var text: String {
        """
        httpdnsd \(stats.version)  up \(StatusReport.spell(seconds: stats.uptimeSeconds))  pid \(processID)  \
        listening on \(listeners.joined(separator: " "))
        providers  \(list(stats.providers.map(describe), separator: " | "))
        system     \(list(stats.system.servers, separator: " "))
        cache      \(stats.cache.entries) entries, \(StatusReport.spell(bytes: stats.cache.bytes)), \(hitShare)
        queries    \(stats.queries.total), \(stats.inflight) in flight, \(stats.responses.failure) failed

        """
    }

    private func describe(_ provider: StatsReport.Provider) -> String {
        guard provider.requests > 0 else { return "\(provider.name) not asked yet" }
        return "\(provider.name) \(provider.state) \(provider.latencyMilliseconds.p50) ms"
    }

    private var hitShare: String {
        let lookups = stats.cache.hits + stats.cache.misses
        guard lookups > 0 else { return "no look-ups yet" }
        let perMille = stats.cache.hits * 1000 / lookups
        return "\(perMille / 10).\(perMille % 10) % hits"
    }

    private func list(_ items: [String], separator: String) -> String {
        items.isEmpty ? "none" : items.joined(separator: separator)
    }

    /// "3d04h", "2h05m", "4m09s", "12s".
    static func spell(seconds: Int) -> String {
        let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3600: return "\(seconds / 60)m\(two(seconds % 60))s"
        case ..<86_400: return "\(seconds / 3600)h\(two(seconds / 60 % 60))m"
        default: return "\(seconds / 86_400)d\(two(seconds / 3600 % 24))h"
        }
    }

    static func spell(bytes: Int) -> String {
        switch bytes {
        case ..<1024: return "\(bytes) B"
        case ..<(1 << 20): return "\(bytes >> 10) KiB"
        default: return "\(bytes >> 20).\((bytes >> 10 & 1023) * 10 / 1024) MiB"
        }
    }
}
