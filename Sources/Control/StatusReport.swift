// The few lines of `status`: is it alive, whom does it listen to, who answers it.

package struct StatusReport: Codable, Equatable, Sendable {
    package var version = programVersion
    package var uptimeSeconds: Int
    package var processID: Int
    /// "ADDR:PORT", each for UDP and TCP.
    package var listeners: [String]
    /// Serving threads, each with its own UDP socket per listener.
    package var threads: Int
    package var providers: [Provider] = []
    /// The nameservers of the last resort, "ADDR:PORT".
    package var systemServers: [String] = []
    /// Those that are not asked because they lead back to us.
    package var loopingServers: [String] = []
    package var cache = StatsReport.Cache()
    /// Those that are off.
    package var switches: [SwitchReport] = []
    /// Nil: nobody watches the network.
    package var network: NetworkReport.Current?
    /// Open descriptors, and how many may be open; nil from daemons that do not tell.
    package var openDescriptors: Int?
    package var descriptorLimit: Int?
    /// Of which user and group it is, and whether system calls are kept from it; nil from those who do not say.
    package var rights: String?
    /// What makes one think that a captive portal stands in the way, whether or not the network is watched. It names
    /// hosts as the portal chose them.
    package var portal: String? {
        didSet { portal = portal?.shown(maxBytes: StatusReport.maxPortalBytes) }
    }

    package init(uptimeSeconds: Int, processID: Int, listeners: [String], threads: Int) {
        self.uptimeSeconds = uptimeSeconds
        self.processID = processID
        self.listeners = listeners
        self.threads = threads
    }

    /// What a daemon has answered to `status --json`; nil for anything else.
    package init?(answer: [UInt8]) {
        guard let report: StatusReport = decoded(String(decoding: answer, as: UTF8.self)) else { return nil }
        self = report
    }

    package enum CodingKeys: String, CodingKey {
        case version, listeners, threads, providers, cache, switches, network, portal, rights
        case uptimeSeconds = "uptime_s"
        case processID = "pid"
        case openDescriptors = "open_fds"
        case descriptorLimit = "max_fds"
        case systemServers = "system_servers"
        case loopingServers = "looping_servers"
    }

    package struct Provider: Codable, Equatable, Sendable {
        package var name: String
        package var state: String
        /// The median of late; nil before the first answer.
        package var latencyMilliseconds: Int?

        package init(name: String, state: String, latencyMilliseconds: Int? = nil) {
            self.name = name
            self.state = state
            self.latencyMilliseconds = latencyMilliseconds
        }

        package enum CodingKeys: String, CodingKey {
            case name, state
            case latencyMilliseconds = "latency_ms"
        }
    }
}

extension StatusReport {
    package var text: String {
        let start = "httpdnsd \(version)  up \(LineFormat.uptime(seconds: uptimeSeconds))  pid \(processID)"
        let listening = listeners.isEmpty ? "none" : listeners.joined(separator: " ") + " (udp x\(threads), tcp)"
        let upstreams = providers.map { provider in
            let latency = provider.latencyMilliseconds.map { " \($0) ms" } ?? ""
            return "\(provider.name) \(provider.state)\(latency)"
        }
        return """
            \(start)  listeners \(listening)
            providers  \(upstreams.isEmpty ? "none" : upstreams.joined(separator: " | "))
            system     \(systemText)
            cache      \(cacheText)

            """ + further.map { LineFormat.spaced([$0.0, $0.1], widths: [StatusReport.labelWidth]) + "\n" }.joined()
    }

    static let labelWidth = 9
    private static let maxPortalBytes = 300

    /// What not every daemon has to say.
    private var further: [(String, String)] {
        [
            ("network", network?.line), ("portal", portal ?? network?.portal),
            ("rights", rights), ("files", descriptorText),
            ("switched", switches.isEmpty ? nil : switches.map(\.text).joined(separator: " | ")),
        ].compactMap { label, text in text.map { (label, $0) } }
    }

    private var descriptorText: String? {
        guard let openDescriptors, let descriptorLimit else { return nil }
        return "\(LineFormat.grouped(openDescriptors)) open, \(LineFormat.grouped(descriptorLimit)) allowed"
    }

    private var systemText: String {
        let asked = systemServers.isEmpty ? "none" : systemServers.joined(separator: " ")
        return asked + (loopingServers.isEmpty ? "" : " (leads back to us: \(loopingServers.joined(separator: " ")))")
    }

    private var cacheText: String {
        let size = "\(LineFormat.grouped(cache.entries)) entries, \(LineFormat.size(bytes: cache.bytes))"
        guard let share = LineFormat.percent(cache.hits, of: cache.hits + cache.misses) else { return size }
        return "\(size), \(share) hits"
    }
}
