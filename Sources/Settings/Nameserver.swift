// The operator's settings of nameservers with a name: addresses, the names that belong to them, and how the servers are
// authenticated.

package import DNSWire

extension Settings {
    /// Servers that are asked over DNS, in order, for the names that belong to them or that a rule sends to them.
    package struct Nameserver: Equatable, Sendable {
        package struct Server: Hashable, Sendable {
            package enum Transport: Hashable, Sendable {
                /// UDP, and TCP for answers that are too long.
                case plain
                /// DNS over TLS (RFC 7858). The certificate must be valid for this host name, or, if nil, for the
                /// address.
                case tls(name: String?)
            }

            package let endpoint: SocketAddress
            package let transport: Transport

            package init(endpoint: SocketAddress, transport: Transport) {
                self.endpoint = endpoint
                self.transport = transport
            }
        }

        /// The name, with the form of a provider's and different from the names of all providers.
        package var name: String
        /// The servers, 1 to 8, all different.
        package var servers: [Server]
        /// The names, up to 1,000, all different; each with all names below it, the root for every name. Questions for
        /// them go to these servers and to no other upstream.
        package var names: [Name] = []
        /// The absolute path of a file with certificate authorities; nil: the system's.
        package var caFile: String?
        /// The only network interface that queries leave through; nil: the kernel chooses by the routes.
        package var interface: String?

        /// The servers, all with TLS, validate (DNSSEC), and clients get their AD bit.
        package var trustAD = false

        package init(
            name: String, servers: [Server], names: [Name] = [], caFile: String? = nil, interface: String? = nil,
            trustAD: Bool = false
        ) {
            self.name = name
            self.servers = servers
            self.names = names
            self.caFile = caFile
            self.interface = interface
            self.trustAD = trustAD
        }
    }
}

extension Settings.Nameserver.Server {
    /// The port of DNS over TLS (RFC 7858 section 3.1).
    static let tlsPort: UInt16 = 853
    fileprivate static let scheme = "tls://"

    fileprivate init?(_ text: String) {
        guard text.hasPrefix(Self.scheme) else {
            guard let endpoint = SocketAddress(text, defaultPort: 53), endpoint.port != 0 else { return nil }
            self.init(endpoint: endpoint, transport: .plain)
            return
        }
        let parts = text.dropFirst(Self.scheme.count).split(
            separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        guard let endpoint = SocketAddress(String(parts[0]), defaultPort: Self.tlsPort), endpoint.port != 0 else {
            return nil
        }
        guard parts.count == 2 else {
            self.init(endpoint: endpoint, transport: .tls(name: nil))
            return
        }
        guard let name = Settings.hostName(String(parts[1])), Address(name) == nil else { return nil }
        self.init(endpoint: endpoint, transport: .tls(name: name))
    }

    fileprivate static func remedy(_ text: String) -> String? {
        if !text.contains("://"), text.contains("#"), let server = Self(scheme + text) {
            return "a name of a certificate needs TLS: write \"\(server)\""
        }
        if let zone = text.firstIndex(of: "%") {
            let name = text[zone...].dropFirst().prefix { !"]:#@".contains($0) }
            let server = Self(String(text[..<zone] + text[name.endIndex...]))
            return server.map { "write \"\($0)\", and interface = \"\(name)\" on a line of its own" }
        }
        // unbound has the form ADDR@PORT#NAME.
        let withColon = String(text.map { $0 == "@" ? ":" : $0 })
        return text.contains("@") ? Self(withColon).map { "a port follows a colon: write \"\($0)\"" } : nil
    }
}

extension Settings.Nameserver.Server: CustomStringConvertible {
    package var description: String {
        switch transport {
        case .plain: endpoint.description
        case .tls(let name): Self.scheme + endpoint.description + (name.map { "#\($0)" } ?? "")
        }
    }
}

extension Format<Settings.Nameserver.Server> {
    static let namedServer = Format.text(
        allowed: "\"ADDR[:PORT]\" or \"tls://ADDR[:PORT][#NAME]\", with an IPv6 address in brackets before a port",
        schema: .matching("\(TextPattern.server)|tls://\(TextPattern.server)(#\(TextPattern.hostName))?"),
        remedy: { Settings.Nameserver.Server.remedy($0) }, parse: { Settings.Nameserver.Server($0) },
        write: \.description)
}

extension Settings.Nameserver: KeyedElement {
    /// Maximum number of servers. More only delay a failure.
    private static let maxServers = 8
    /// Maximum number of names, as many as in a rule.
    private static let maxNames = 1000

    static let empty = Self(name: "", servers: [])
    static let required: KeyValuePairs = ["name": "\"corp\"", "servers": "[\"192.0.2.53\"]"]

    static let keys: [Key<Settings.Nameserver>] = [
        Key("name", \.name, .providerName),
        Key(
            "servers", \.servers,
            Format.namedServer.list(of: "strings \"ADDR[:PORT]\" or \"tls://ADDR[:PORT][#NAME]\"", 1...maxServers)),
        Key("names", \.names, Format.ruleName.list(of: "names", 0...maxNames).leavingOut([])),
        Key("ca-file", \.caFile, Format.path().orEmpty()),
        Key("interface", \.interface, Format.interfaceName.orEmpty()),
        Key("trust-ad", \.trustAD, Format.truth.leavingOut(false)),
    ]

    func completed(_ given: Set<String>) -> Self? { name.isEmpty || servers.isEmpty ? nil : self }

    func contradictions(_ given: Set<String>) -> [Contradiction] {
        var list: [Contradiction] = []
        if caFile != nil, servers.allSatisfy({ $0.transport == .plain }) {
            list.append(("ca-file", "nameserver.ca-file: found without a server \"tls://...\"; allowed: with one"))
        }
        if interface == nil, let server = servers.first(where: { $0.endpoint.address.isLinkLocal6 }) {
            list.append(
                (
                    "servers",
                    "nameserver.servers: found \"\(server)\", a link-local address, without interface; write, for "
                        + "example, interface = \"eth0\""
                ))
        }
        if trustAD, servers.contains(where: { $0.transport == .plain }) {
            list.append(
                (
                    "trust-ad",
                    "nameserver.trust-ad: found true with a server without TLS, whose replies a host on the path can "
                        + "forge; allowed: with servers \"tls://...\" only"
                ))
        }
        return list
    }
}

extension SettingsErrors {
    /// Maximum number of nameservers. Each is a source with measurements and counters of its own, as a provider is.
    static let nameserverCounts = 0...16

    mutating func nameservers(_ node: TOMLNode, besideProviders providers: [String]) -> [Settings.Nameserver] {
        var nameservers: [Settings.Nameserver] = []
        for table in tables(node, named: "nameserver", SettingsErrors.nameserverCounts) {
            guard let nameserver = filled(table, in: "nameserver") as Settings.Nameserver? else { continue }
            judge(nameserver, table.node, beside: nameservers, providers)
            nameservers.append(nameserver)
        }
        return nameservers
    }

    private mutating func judge(
        _ nameserver: Settings.Nameserver, _ element: TOMLNode, beside others: [Settings.Nameserver],
        _ providers: [String]
    ) {
        judgeName(nameserver.name, "nameserver", element, beside: others.map(\.name))
        if providers.contains(nameserver.name) {
            note(
                element.member("name") ?? element,
                "nameserver.name: found \(quoted(nameserver.name)), the name of a [[provider]]; "
                    + "allowed: another name, as rules name both")
        }
        judgeRepeated(nameserver.servers, "nameserver.servers", element.member("servers"))
        judgeRepeated(nameserver.names, "nameserver.names", element.member("names"))
        guard case .array(let nodes) = element.member("names")?.value else { return }
        for (name, node) in zip(nameserver.names, nodes) {
            guard let other = others.first(where: { $0.names.contains(name) }) else { continue }
            note(
                node,
                "nameserver.names: found \"\(name)\", a name of nameserver \(quoted(other.name)); "
                    + "allowed: in one [[nameserver]]; list all servers there")
        }
    }

    /// A rule must not send the names of a nameserver to another upstream.
    mutating func judge(
        _ rules: [Settings.Rule], _ node: TOMLNode?, beside nameservers: [Settings.Nameserver]
    ) {
        guard case .array(let elements) = node?.value, elements.count == rules.count else { return }
        for (rule, element) in zip(rules, elements) {
            guard let resolver = rule.resolver, case .array(let nodes) = element.member("match")?.value else {
                continue
            }
            for (name, node) in zip(rule.match, nodes) {
                guard let owner = nameservers.first(where: { $0.names.contains(name) }),
                    resolver != .nameserver(owner.name)
                else { continue }
                note(
                    node,
                    "rule.match: found \"\(name)\" with another resolver than nameserver \(quoted(owner.name)), which "
                        + "has it in names; allowed: in one of both")
            }
        }
    }
}
