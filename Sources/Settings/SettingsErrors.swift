// Reads the values of a file section by section and collects all errors instead of stopping at the first.

import DNSWire

struct SettingsErrors {
    struct Finding {
        let node: Int
        let isAboutKey: Bool
        let text: String
    }

    private(set) var all: [Finding] = []
    /// The nodes of the rules that were read, in their order.
    private(set) var ruleNodes: [Int] = []

    /// Maximum number of providers. Each costs connections, memory and counters.
    static let maxProviders = 32
    /// Maximum number of rules, which are exceptions to the general settings.
    private static let maxRules = 1000
    /// Maximum number of files of all rules. Each is searched for every name that is not in the cache.
    private static let maxRuleFiles = 64
    /// Maximum number of receivers. Each event is sent to every receiver.
    private static let maxReceivers = 4

    private typealias Home = (table: String, header: String, keys: [(name: String, mayBeSecret: Bool)])

    /// The tables of all known keys.
    private static let homes: [Home] = [
        home("", "at the top of the file, above every table", Settings.keys),
        home("server", "under [server]", Settings.Server.keys),
        home("provider", "under [[provider]]", ProviderDraft.keys),
        home("system-resolver", "under [system-resolver]", Settings.SystemResolver.keys),
        home("cache", "under [cache]", Settings.Cache.keys),
        home("prefetch", "under [prefetch]", Settings.Prefetch.keys),
        home("stale", "under [stale]", Settings.Stale.keys),
        home("probe", "under [probe]", Settings.Probe.keys),
        home("network", "under [network]", Settings.Network.keys),
        home("fleet", "under [fleet]", Settings.Fleet.keys),
        home("control", "under [control]", Settings.Control.keys),
        home("log", "under [log]", Settings.Log.keys),
        home("notify", "under [[notify]]", ReceiverDraft.keys),
        home("nameserver", "under [[nameserver]]", NameserverDraft.keys),
        home("view", "under [[view]]", ViewDraft.keys),
        home("rule", "under [[rule]]", Settings.Rule.keys),
    ]

    private static func home<Section>(_ table: String, _ header: String, _ keys: [Key<Section>]) -> Home {
        (table, header, keys.map { ($0.name, $0.mayBeSecret) })
    }

    /// Whether these names are a known table and its key, with a value that messages show. Keys of templates count as
    /// secret.
    static func isPublic(_ keys: [String]) -> Bool {
        guard let key = keys.last, keys.count <= 2 else { return false }
        let table = keys.dropLast().first ?? ""
        return homes.contains { home in
            home.table == table && home.keys.contains { $0.name == key && !$0.mayBeSecret }
        }
    }

    func complaints(_ document: borrowing TOMLDocument, file: String) -> [Complaint] {
        var complaints: [Complaint] = []
        for finding in all {
            let place = document.place(of: finding.node, ofKey: finding.isAboutKey)
            complaints.append(Complaint(file: file, line: place.line, column: place.column, text: finding.text))
        }
        return complaints
    }

    /// Reads the settings. The result is valid only if there are no findings afterwards.
    mutating func settings(from root: TOMLNode) -> Settings {
        var settings = Settings()
        guard case .table(let members) = root.value else { return settings }
        for (key, node) in members {
            switch key {
            case "server": read(Settings.Server.keys, in: key, of: node, into: &settings.server)
            case "provider": settings.providers = providers(node)
            case "system-resolver":
                read(Settings.SystemResolver.keys, in: key, of: node, into: &settings.systemResolver)
            case "cache": read(Settings.Cache.keys, in: key, of: node, into: &settings.cache)
            case "prefetch": read(Settings.Prefetch.keys, in: key, of: node, into: &settings.prefetch)
            case "stale": read(Settings.Stale.keys, in: key, of: node, into: &settings.stale)
            case "probe": read(Settings.Probe.keys, in: key, of: node, into: &settings.probe)
            case "network": read(Settings.Network.keys, in: key, of: node, into: &settings.network)
            case "fleet": read(Settings.Fleet.keys, in: key, of: node, into: &settings.fleet)
            case "control": read(Settings.Control.keys, in: key, of: node, into: &settings.control)
            case "log": read(Settings.Log.keys, in: key, of: node, into: &settings.log)
            case "notify": settings.receivers = receivers(node)
            case "nameserver":
                settings.nameservers = nameservers(node, besideProviders: names(of: "provider", in: root))
            case "view": settings.views = views(node, beside: names(of: "provider", in: root))
            case "rule":
                settings.rules = rules(
                    node, providers: names(of: "provider", in: root), nameservers: names(of: "nameserver", in: root))
            default: top(key, node, into: &settings)
            }
        }
        judge(settings.rules, root.member("rule"), beside: settings.nameservers)
        judgeLocalNames(settings, in: root)
        judgeViews(settings, in: root)
        judgeFleet(settings, in: root)
        judgeAliases(settings, root.member("rule"))
        settings.giveSubnetsOfViews()
        giveParameters(to: &settings.providers, of: settings.rules, in: root.member("rule"))
        judgeListen(settings.server, in: root)
        judgeRepeated(settings.probe.ports, "probe.ports", root.member("probe")?.member("ports"))
        if let section = root.member("cache") {
            judgeTTLs(settings.cache.minTTL, settings.cache.maxTTL, in: "cache", section)
        }
        return settings
    }

    private mutating func top(_ name: String, _ node: TOMLNode, into settings: inout Settings) {
        guard let key = Settings.keys.first(where: { $0.name == name }) else {
            return unknown(
                name, node, place: "at the top", known: Settings.keys.map(\.name) + Settings.sectionNames)
        }
        read(key, in: nil, node, into: &settings)
    }

    private mutating func read<Section>(
        _ keys: [Key<Section>], in name: String, of table: TOMLNode, into section: inout Section
    ) {
        guard case .table(let members) = table.value else {
            let remedy = table.hasTables ? "; one bracket on each side: write [\(name)]" : ""
            note(table, aboutKey: true, "\(name): found \(table.found); allowed: a table [\(name)]\(remedy)")
            return
        }
        read(keys, in: name, header: "[\(name)]", of: members, into: &section)
    }

    mutating func read<Section>(
        _ keys: [Key<Section>], in name: String, header: String, of members: [(key: String, node: TOMLNode)],
        besideTables tables: [String] = [], into section: inout Section
    ) {
        for (keyName, node) in members where !tables.contains(keyName) {
            guard let key = keys.first(where: { $0.name == keyName }) else {
                unknown(keyName, node, place: "in \(header)", known: keys.map(\.name) + tables)
                continue
            }
            read(key, in: name, node, into: &section)
        }
    }

    private mutating func read<Section>(
        _ key: Key<Section>, in table: String?, _ node: TOMLNode, into section: inout Section
    ) {
        do throws(Misfit) {
            try key.read(node, &section)
        } catch {
            let name = table.map { "\($0).\(key.name)" } ?? key.name
            all += error.faults.map { Finding(node: $0.node, isAboutKey: false, text: "\(name): \($0.text)") }
        }
    }

    typealias Table = (node: TOMLNode, members: [(key: String, node: TOMLNode)])

    mutating func tables(_ node: TOMLNode, named name: String, _ counts: ClosedRange<Int>) -> [Table] {
        guard case .array(let elements) = node.value else {
            let remedy = if case .table = node.value { "; two brackets on each side: write [[\(name)]]" } else { "" }
            note(node, aboutKey: true, "\(name): found \(node.found); allowed: tables [[\(name)]]\(remedy)")
            return []
        }
        guard counts.contains(elements.count) else {
            let allowed = "\(counts.lowerBound) to \(counts.upperBound)"
            note(node, aboutKey: true, "\(name): found \(elements.count) tables; allowed: \(allowed)")
            return []
        }
        var tables: [Table] = []
        for element in elements {
            if case .table(let members) = element.value {
                tables.append((element, members))
            } else {
                note(element, "\(name): found \(element.found); allowed: tables [[\(name)]]")
            }
        }
        return tables
    }

    private mutating func providers(_ node: TOMLNode) -> [Settings.Provider] {
        var providers: [Settings.Provider] = []
        for table in tables(node, named: "provider", 1...SettingsErrors.maxProviders) {
            let (element, before) = (table.node, all.count)
            var draft = ProviderDraft()
            read(table, in: "provider", besideTables: ["template"], into: &draft)
            draft.template = element.member("template").map { template($0) }
            if let name = draft.name, providers.contains(where: { $0.name == name }) {
                note(
                    element.member("name") ?? element,
                    "provider.name: found \(quoted(name)) for the second time; "
                        + "allowed: names that differ")
            }
            // A key with an invalid value counts as missing; a second error would only repeat the first.
            guard all.count == before else { continue }
            note(draft.contradictions, in: element)
            providers += draft.provider.map { [$0] } ?? []
        }
        judgeShadows(providers, in: node)
        return providers
    }

    /// Fills a draft from its table.
    ///
    /// - Returns: the draft; nil if a value is invalid.
    mutating func filled<Draft: TableDraft>(_ empty: Draft, _ table: Table, in name: String) -> Draft? {
        let before = all.count
        var draft = empty
        read(table, in: name, into: &draft)
        guard all.count == before else { return nil }
        note(draft.contradictions, in: table.node)
        return draft
    }

    private mutating func read<Draft: TableDraft>(
        _ table: Table, in name: String, besideTables tables: [String] = [], into draft: inout Draft
    ) {
        read(Draft.keys, in: name, header: "[[\(name)]]", of: table.members, besideTables: tables, into: &draft)
    }

    private mutating func receivers(_ node: TOMLNode) -> [Settings.Receiver] {
        tables(node, named: "notify", 0...SettingsErrors.maxReceivers).compactMap {
            filled(ReceiverDraft(), $0, in: "notify")?.receiver
        }
    }

    private mutating func template(_ table: TOMLNode) -> Settings.Provider.Template {
        let before = all.count
        var template = Settings.Provider.Template(query: "")
        read(Settings.Provider.Template.keys, in: "provider.template", of: table, into: &template)
        if all.count == before { template.contradictions.forEach { note(table, aboutKey: true, $0) } }
        return template
    }

    /// Complains if every provider is a shadow.
    private mutating func judgeShadows(_ providers: [Settings.Provider], in node: TOMLNode) {
        guard all.isEmpty, providers.allSatisfy({ $0.shadow != nil }) else { return }
        guard case .array(let elements) = node.value, let shadow = elements.first?.member("shadow") else { return }
        note(
            shadow, aboutKey: true,
            "provider.shadow: found in every [[provider]]; allowed: with at least one provider that has none")
    }

    /// Returns the names of providers or nameservers as written, even if other keys are invalid.
    private func names(of table: String, in root: TOMLNode) -> [String] {
        guard case .array(let elements) = root.member(table)?.value else {
            return table == "provider" ? Settings.Provider.builtIn.map(\.name) : []
        }
        return elements.compactMap { element in
            guard case .string(let name) = element.member("name")?.value else { return nil }
            return name
        }
    }

    /// - Parameters:
    ///   - root: the document with one [[rule]].
    ///   - providers: the names of the providers; likewise for nameservers.
    mutating func rule(from root: TOMLNode, providers: [String], nameservers: [String]) -> Settings.Rule? {
        root.member("rule").flatMap { rules($0, providers: providers, nameservers: nameservers).first }
    }

    private mutating func rules(_ node: TOMLNode, providers: [String], nameservers: [String]) -> [Settings.Rule] {
        var rules: [Settings.Rule] = []
        var elements: [TOMLNode] = []
        for (element, members) in tables(node, named: "rule", 0...SettingsErrors.maxRules) {
            let before = all.count
            var rule = Settings.Rule(match: [])
            read(Settings.Rule.keys, in: "rule", header: "[[rule]]", of: members, into: &rule)
            guard all.count == before else { continue }
            if case .provider(let name) = rule.resolver, nameservers.contains(name) {
                rule.resolver = .nameserver(name)
            }
            judge(rule, element)
            judge(rule.resolver, element, providers + nameservers)
            rules.append(rule)
            elements.append(element)
        }
        let files = rules.reduce(0) { $0 + $1.matchFiles.count }
        if files > SettingsErrors.maxRuleFiles {
            note(
                node, aboutKey: true,
                "rule.match-file: found \(files) files in all; allowed: \(SettingsErrors.maxRuleFiles)")
        }
        ruleNodes = elements.map(\.index)
        return rules
    }

    private mutating func judge(_ rule: Settings.Rule, _ element: TOMLNode) {
        if rule.match.isEmpty, rule.matchFiles.isEmpty, rule.resolver != .link {
            note(element, aboutKey: true, "this [[rule]] has no match and no match-file; every rule needs one of them")
        }
        var empty = Settings.Rule(match: rule.match)
        (empty.matchFiles, empty.view) = (rule.matchFiles, rule.view)
        if rule == empty {
            let others = Settings.Rule.keys.map(\.name).filter { !Settings.Rule.conditions.contains($0) }
            let text = others.joined(separator: ", ")
            note(element, aboutKey: true, "this [[rule]] changes nothing; add one or more of \(text)")
        }
        if let least = rule.terms.minTTL, let most = rule.terms.maxTTL { judgeTTLs(least, most, in: "rule", element) }
        judgeRepeated(rule.terms.probePorts ?? [], "rule.probe-ports", element.member("probe-ports"))
        if rule.terms.connect != nil { judgeConnect(rule, element) }
        note(rule.answerContradictions, in: element)
        judgeRepeated(rule.match, "rule.match", element.member("match"))
        judgeRepeated(rule.matchFiles, "rule.match-file", element.member("match-file"))
        judgeRepeated(rule.terms.addressSets ?? [], "rule.nftset", element.member("nftset"))
        if rule.terms.addressSets != nil, rule.view != nil {
            note(
                element.member("nftset") ?? element,
                "rule.nftset: found with view; allowed: without, as the packet filter is for all clients")
        }
    }

    mutating func judgeRepeated(_ values: [some Hashable], _ key: String, _ node: TOMLNode?) {
        guard case .array(let nodes) = node?.value else { return }
        var seen: Set<AnyHashable> = []
        for (value, node) in zip(values, nodes) where !seen.insert(value).inserted {
            note(node, "\(key): found \(node.found) for the second time; allowed: each once")
        }
    }

    /// Checks the keys of a connection, which replaces the TLS probes.
    private mutating func judgeConnect(_ rule: Settings.Rule, _ element: TOMLNode) {
        let others = [("probe = false", rule.terms.probe == false), ("probe-ports", rule.terms.probePorts != nil)]
        for (other, isSet) in others where isSet {
            note(
                element.member("connect") ?? element,
                "rule.connect: found with \(other); allowed: without, as it takes the place of TLS probes")
        }
    }

    private mutating func judge(
        _ resolver: Settings.Rule.RuleResolver?, _ element: TOMLNode, _ upstreams: [String]
    ) {
        guard case .provider(let name) = resolver else { return }
        let known = ["httpdns", "system", "link"] + upstreams
        judgeKnown(name, "rule.resolver", element.member("resolver") ?? element, known)
    }

    /// Complains about a key that names an unknown entry of another table.
    ///
    /// - Parameter none: the allowed values if the other table is empty.
    mutating func judgeKnown(
        _ name: String, _ key: String, _ node: TOMLNode, _ known: [String], orElse none: String = ""
    ) {
        guard !known.contains(name) else { return }
        let hint = nearestName(to: name, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
        let allowed = known.isEmpty ? none : known.map(quoted).joined(separator: ", ")
        note(node, "\(key): found \(quoted(name)); allowed: \(allowed)\(hint)")
    }

    private mutating func judgeListen(_ server: Settings.Server, in root: TOMLNode) {
        guard case .array(let nodes) = root.member("server")?.member("listen")?.value else { return }
        guard nodes.count == server.listen.count else { return }
        for (index, place) in server.listen.enumerated()
        where !place.isAnyFreePort && server.listen[..<index].contains(place) {
            note(nodes[index], "server.listen: found \"\(place)\" for the second time; allowed: each once")
        }
    }

    private mutating func judgeTTLs(_ least: Duration, _ most: Duration, in name: String, _ section: TOMLNode) {
        guard least > most, let node = section.member("min-ttl") ?? section.member("max-ttl") else { return }
        let write = Format<Duration>.duration(.zero...least).write
        let (leastText, mostText) = (write(least) ?? "", write(most) ?? "")
        note(
            node,
            "\(name).min-ttl: found \(leastText), more than \(name).max-ttl, which is \(mostText); "
                + "allowed: at most that"
        )
    }

    private mutating func unknown(_ key: String, _ node: TOMLNode, place: String, known: [String]) {
        let homes = SettingsErrors.homes.filter { $0.keys.contains { $0.name == key } }.map(\.header)
        let hint =
            if let near = nearestName(to: key, among: known) {
                "; did you mean \"\(near)\"?"
            } else {
                homes.isEmpty ? "" : "; it belongs \(homes.joined(separator: " or "));"
            }
        let found = hint.isEmpty ? "unknown key \(place)\(hiddenName)" : "unknown key \(quoted(key)) \(place)\(hint)"
        note(node, aboutKey: true, "\(found) allowed: \(known.joined(separator: ", "))")
    }

    mutating func note(_ contradictions: [Contradiction], in table: TOMLNode) {
        for (key, text) in contradictions {
            note(key.flatMap { table.member($0) } ?? table, aboutKey: key == nil, text)
        }
    }

    mutating func note(_ node: TOMLNode, aboutKey: Bool = false, _ text: String) {
        all.append(Finding(node: node.index, isAboutKey: aboutKey, text: text))
    }
}

extension TOMLNode {
    /// True for the value of [[headers]].
    fileprivate var hasTables: Bool {
        guard case .array(let elements) = value, case .table = elements.first?.value else { return false }
        return true
    }

    func member(_ key: String) -> TOMLNode? {
        guard case .table(let members) = value else { return nil }
        return members.first { $0.key == key }?.node
    }
}
