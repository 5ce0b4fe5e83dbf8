// `network`, and the network line of `status`: the network in use, its routes and state, and other known networks.
// Names that networks advertise are escaped here.

package struct NetworkReport: Report, Codable, Equatable {
    /// The network in use; nil if the network is not monitored.
    package var current: Current?
    /// All known networks, the one in use included, in the caller's order.
    package var known: [Known]
    /// The addresses that providers report for this machine, the latest last.
    package var exits: [Exit]
    /// The confirmed prefixes of the carrier of the network in use, such as "203.0.0.0/16".
    package var carrier: [String]

    package init(current: Current?, known: [Known] = [], exits: [Exit] = [], carrier: [String] = []) {
        self.current = current
        self.known = known
        self.exits = exits
        self.carrier = carrier
    }

    package enum State: String, Codable, Sendable {
        case stable = "settled"
        /// The default routes are changing.
        case changing = "unsettled"
        /// There is no default route.
        case none = "no network"
    }

    package struct Current: Codable, Equatable, Sendable {
        /// The ID of eight hexadecimal digits; empty if there is no network.
        package let id: String
        /// The description, such as "wifi, gateway 192.168.1.1".
        package let words: String
        package let state: State
        /// How long the network has been in use, or how long there has been none.
        package let seconds: Int
        /// The families that have a default route: "IPv4", "IPv6".
        package let families: [String]
        /// Network changes since the start.
        package let changes: Int
        /// Time from the first usable route to the first fresh answer; nil before the first time.
        package let lastRecoveryMilliseconds: Int?
        /// Why a captive portal is suspected: "suspected since 12:34:56Z: ...".
        package let portal: String?
        /// The NAT64 prefix through which IPv4 is reached: "64:ff9b::/96".
        package let nat64Prefix: String?
        /// The file that names the system's nameservers; nil if the settings name them.
        package let nameserverSource: String?

        package init(
            id: String, words: String, state: State, seconds: Int, families: [String] = [], changes: Int = 0,
            lastRecoveryMilliseconds: Int? = nil, portal: String? = nil, nat64Prefix: String? = nil,
            nameserverSource: String? = nil
        ) {
            self.id = id.shown(maxBytes: Bound.idBytes)
            self.words = words.shown(maxBytes: Bound.wordsBytes)
            self.state = state
            self.seconds = seconds
            self.families = families
            self.changes = changes
            self.lastRecoveryMilliseconds = lastRecoveryMilliseconds
            self.portal = portal?.shown(maxBytes: Bound.portalBytes)
            self.nat64Prefix = nat64Prefix
            self.nameserverSource = nameserverSource?.shown(maxBytes: Bound.pathBytes)
        }

        package enum CodingKeys: String, CodingKey {
            case id, words, state, families, changes, portal
            case nat64Prefix = "translation"
            case seconds = "age_s"
            case lastRecoveryMilliseconds = "last_recovery_ms"
            case nameserverSource = "resolv_conf"
        }
    }

    package struct Exit: Codable, Equatable, Sendable {
        package let address: String
        package let provider: String
        /// Time since the reply.
        package let ageSeconds: Int

        package init(address: String, provider: String, ageSeconds: Int) {
            self.address = address
            self.provider = provider
            self.ageSeconds = ageSeconds
        }

        package enum CodingKeys: String, CodingKey {
            case address, provider
            case ageSeconds = "age_s"
        }
    }

    /// A known network.
    package struct Known: Codable, Equatable, Sendable {
        package let id: String
        package let words: String
        /// The first and the last visit in seconds since 1970. A nil `lastSeenSeconds` means that the network is in
        /// use.
        package let firstSeenSeconds: Int64
        package let lastSeenSeconds: Int64?
        /// How many times the network came into use.
        package let times: Int
        /// The confirmed prefixes of the network's carrier.
        package let carrier: [String]

        package init(
            id: String, words: String, firstSeenSeconds: Int64, lastSeenSeconds: Int64?, times: Int,
            carrier: [String] = []
        ) {
            self.id = id.shown(maxBytes: Bound.idBytes)
            self.words = words.shown(maxBytes: Bound.wordsBytes)
            self.firstSeenSeconds = firstSeenSeconds
            self.lastSeenSeconds = lastSeenSeconds
            self.times = times
            self.carrier = carrier
        }

        package enum CodingKeys: String, CodingKey {
            case id, words, times, carrier
            case firstSeenSeconds = "first_seen_s"
            case lastSeenSeconds = "last_seen_s"
        }
    }

    /// Size limits in bytes, one output line each.
    enum Bound {
        static let idBytes = 16
        /// Maximum size of a network's description.
        static let wordsBytes = 240
        /// Maximum size of a cause.
        static let causeBytes = 60
        static let portalBytes = 300
        static let pathBytes = 4_096
    }
}

extension NetworkReport {
    package var text: String {
        let rows = exits.reversed().map { exit in
            ("exit", "\(exit.address) by \(exit.provider), \(LineFormat.span(seconds: exit.ageSeconds)) ago")
        }
        let lines =
            (current.map(\.lines) ?? ["the daemon does not watch the network ([network] watch is off)"])
            + (rows + (carrier.isEmpty ? [] : [("carrier", carrier.joined(separator: ", "))])).map(LineFormat.labelled)
        guard !known.isEmpty else { return lines.map { "\($0)\n" }.joined() }
        let table = [["known", "last seen", "network", "times"]] + known.map(\.columns)
        return (lines + [""] + LineFormat.aligned(table)).map { "\($0)\n" }.joined()
    }
}

extension NetworkReport.Current {
    /// The network line of `status`: "6f2c1a09 (wifi, gateway 192.168.1.1)  for 2h14m  changes 3, last recovery 340
    /// ms".
    var line: String { "\(name)  for \(LineFormat.uptime(seconds: seconds))\(change)  changes \(history)" }

    fileprivate var lines: [String] {
        var rows = [
            ("network", "\(name)\(change)"),
            (state == .none ? "lost" : "in use", "for \(LineFormat.uptime(seconds: seconds))"),
            ("routes", families.isEmpty ? "none" : families.joined(separator: ", ")),
            ("changes", history),
        ]
        if let nameserverSource { rows.append(("servers", "from \(nameserverSource)")) }
        if let nat64Prefix { rows.append(("NAT64", nat64Prefix)) }
        if let portal { rows.append(("portal", portal)) }
        return rows.map(LineFormat.labelled)
    }

    private var name: String {
        guard state != .none else { return "none" }
        return words.isEmpty ? id : "\(id) (\(words))"
    }

    private var change: String { state == .changing ? ", changing" : "" }

    private var history: String {
        "\(LineFormat.grouped(changes))"
            + (lastRecoveryMilliseconds.map { ", last recovery \(LineFormat.grouped($0)) ms" } ?? "")
    }
}

extension NetworkReport.Known {
    fileprivate var columns: [String] {
        [
            id, lastSeenSeconds.map(LineFormat.moment) ?? "in use",
            ([words.isEmpty ? "-" : words] + carrier.map { "carrier \($0)" }).joined(separator: ", "),
            LineFormat.grouped(times),
        ]
    }
}
