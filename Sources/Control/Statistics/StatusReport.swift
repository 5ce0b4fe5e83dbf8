// `status`: version, listeners, upstreams, cache and state in a few lines.

package struct StatusReport: Report, Codable, Equatable {
    package var version = programVersion
    package var uptimeSeconds: Int
    package var processID: Int
    /// The listeners, "ADDR:PORT", each for UDP and TCP.
    package var listeners: [String]
    /// Listeners whose address no interface has; nil if there are none.
    package var missingListeners: [String]?
    /// Number of serving threads; each has its own UDP socket per listener.
    package var threads: Int
    package var providers: [Provider] = []
    /// The operator's nameservers; nil if there are none.
    package var nameservers: [Provider]?
    /// The nameservers of the system resolver, "ADDR:PORT".
    package var systemServers: [String] = []
    /// Nameservers that forward back to this daemon and are therefore not asked.
    package var loopingServers: [String] = []
    /// The group "cache" of `stats`.
    package var cache = StatsTree.members([:])
    /// The switches that are off.
    package var switches: [SwitchReport] = []
    /// Quotas of which 80 % or all are used; nil if there are none.
    package var quotas: [QuotaWarning]?
    /// The network in use; nil if the network is not monitored.
    package var network: NetworkReport.Current?
    /// Open file descriptors and their limit; nil from a daemon version without these fields.
    package var openDescriptors: Int?
    package var descriptorLimit: Int?
    /// The daemon's user and group, and whether its system calls are restricted; nil from a daemon version without this
    /// field.
    package var rights: String?
    /// Absolute path of the settings file, which may not exist; nil from a daemon version without this field.
    package var settingsFile: String?
    /// The label that explanations over DNS need; nil from a daemon version without this field.
    package var explanationKey: String?
    /// The lists of names for rules; nil if there are none.
    package var lists: [List]?
    /// The directory of hosts files and the lease files; nil if there are none.
    package var localNames: [List]?
    /// The faults of accounts to which no client's question goes, and which are therefore left out; nil: none.
    package var unusedAccounts: [String]?
    /// The sets of nftables that rules name; nil: none does.
    package var nftsets: [NFTSet]?
    /// The fleet; nil without [fleet].
    package var fleet: Fleet?
    /// Why a captive portal is suspected, also if the network is not monitored. Contains host names that the portal
    /// chose.
    package var portal: String? {
        didSet { portal = portal?.shown(maxBytes: StatusReport.maxPortalBytes) }
    }

    package init(uptimeSeconds: Int, processID: Int, listeners: [String], threads: Int) {
        self.uptimeSeconds = uptimeSeconds
        self.processID = processID
        self.listeners = listeners
        self.threads = threads
    }

    package enum CodingKeys: String, CodingKey {
        case version, listeners, threads, providers, nameservers, cache, switches, quotas, network, portal, rights,
            lists, nftsets, fleet
        case uptimeSeconds = "uptime_s"
        case processID = "pid"
        case missingListeners = "missing_listeners"
        case settingsFile = "settings_file"
        case explanationKey = "explanation_key"
        case localNames = "local_names"
        case unusedAccounts = "unused_accounts"
        case openDescriptors = "open_fds"
        case descriptorLimit = "max_fds"
        case systemServers = "system_servers"
        case loopingServers = "looping_servers"
    }

    /// A file of `match-file`, a directory of hosts files or a lease file.
    package struct List: Codable, Equatable, Sendable {
        package var path: String
        package var names: Int
        /// The fault of the file; nil: its present contents are in force.
        package var fault: String?
        /// Lines that are no lines of the format; nil: none.
        package var ignoredLines: Int?
        /// Leases whose client has a name that no host may have; nil: none.
        package var refusedNames: Int?

        package init(path: String, names: Int, fault: String?) {
            self.path = path
            self.names = names
            self.fault = fault
        }

        package enum CodingKeys: String, CodingKey {
            case path, names, fault
            case ignoredLines = "ignored_lines"
            case refusedNames = "refused_names"
        }
    }

    package struct NFTSet: Codable, Equatable, Sendable {
        package var set: String
        /// Why the set gets no addresses; nil: it gets them.
        package var fault: String?

        package init(set: String, fault: String?) {
            self.set = set
            self.fault = fault
        }
    }

    package struct Fleet: Codable, Equatable, Sendable {
        /// The server of Redis that is used or tried, as the settings write it.
        package var server: String
        package var site: String
        /// Why Redis is not used; nil: Redis is used, or was not tried yet.
        package var fault: String?

        package init(server: String, site: String, fault: String?) {
            self.server = server
            self.site = site
            self.fault = fault
        }

        var text: String {
            "site \(site) | \(server) " + (fault.map { "not used: \($0)" } ?? "used")
        }
    }

    package struct Provider: Codable, Equatable, Sendable {
        package var name: String
        package var state: String
        /// Recent median latency; nil before the first answer.
        package var latencyMilliseconds: Int?

        package init(name: String, state: String, latencyMilliseconds: Int? = nil) {
            self.name = name
            self.state = state
            self.latencyMilliseconds = latencyMilliseconds
        }

        package init(_ provider: StatsReport.Provider) {
            let latency = provider.durations.hasSome ? provider.latencyMilliseconds.p50 : nil
            self.init(name: provider.name, state: provider.state, latencyMilliseconds: latency)
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
        return """
            \(start)  listeners \(listening)
            providers  \(providers.isEmpty ? "none" : StatusReport.line(providers))
            system     \(systemText)
            cache      \(cacheText)

            """ + further.map { LineFormat.labelled($0.0, $0.1) + "\n" }.joined()
    }

    private static func line(_ providers: [Provider]) -> String {
        providers.map { provider in
            let latency = provider.latencyMilliseconds.map { " \($0) ms" } ?? ""
            return "\(provider.name) \(provider.state)\(latency)"
        }.joined(separator: " | ")
    }

    private static let maxPortalBytes = 300

    /// The facts that only some daemons report.
    private var further: [(String, String)] {
        let facts: [(String, String?)] = [
            ("named", nameservers.map(StatusReport.line)),
            ("missing", missingListeners.map { "\($0.joined(separator: " ")): no interface has the address" }),
            ("network", network?.line), ("portal", portal ?? network?.portal),
            ("rights", rights), ("files", descriptorText),
            ("why", explanationKey.map { "TXT of NAME.\($0).why.httpdnsd. over DNS, or httpdnsctl explain NAME" }),
            ("lists", StatusReport.text(lists)), ("local", StatusReport.text(localNames)),
            ("unused", unusedAccounts?.joined(separator: " | ")),
            ("nftset", nftsets?.map { "\($0.set) \($0.fault ?? "ready")" }.joined(separator: " | ")),
            ("fleet", fleet?.text),
            ("quota", quotas.map { $0.map(\.text).joined(separator: " | ") }),
            ("switched", switches.isEmpty ? nil : switches.map(\.text).joined(separator: " | ")),
        ]
        return facts.compactMap { label, text in text.map { (label, $0) } }
    }

    private static func text(_ lists: [List]?) -> String? {
        lists?.map { list in
            let ignored = list.ignoredLines.map { ", \(counted($0, "line", "lines")) ignored" } ?? ""
            let refused = list.refusedNames.map { ", \(counted($0, "name", "names")) refused" } ?? ""
            let fault = list.fault.map { " (as before a change: \($0))" } ?? ""
            let names = "\(LineFormat.grouped(list.names)) \(list.names == 1 ? "name" : "names")"
            return "\(list.path) \(names)\(ignored)\(refused)\(fault)"
        }.joined(separator: " | ")
    }

    private var descriptorText: String? {
        guard let openDescriptors, let descriptorLimit else { return nil }
        return "\(LineFormat.grouped(openDescriptors)) open, \(LineFormat.grouped(descriptorLimit)) allowed"
    }

    private var systemText: String {
        let asked = systemServers.isEmpty ? "none" : systemServers.joined(separator: " ")
        return asked + (loopingServers.isEmpty ? "" : " (forwarding loop: \(loopingServers.joined(separator: " ")))")
    }

    private var cacheText: String {
        let count = { cache[$0]?.number ?? 0 }
        let size = "\(LineFormat.grouped(count("entries"))) entries, \(LineFormat.size(bytes: count("bytes")))"
        guard let share = LineFormat.percent(count("hits"), of: count("hits") + count("misses")) else { return size }
        return "\(size), \(share) hits"
    }
}
