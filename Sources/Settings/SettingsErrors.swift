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
    static let providerCounts = 1...maxProviders
    /// Maximum number of rules, which are exceptions to the general settings.
    static let ruleCounts = 0...1000
    /// Maximum number of files of all rules. Each is searched for every name that is not in the cache.
    private static let maxRuleFiles = 64
    /// Maximum number of receivers. Each event is sent to every receiver.
    static let receiverCounts = 0...4

    private typealias Home = (table: String, header: String, keys: [(name: String, mayBeSecret: Bool)])

    /// The tables of all known keys.
    private static let homes: [Home] =
        [("", "at the top of the file, above every table", Settings.keys.map { ($0.name, $0.mayBeSecret) })]
        + Settings.rows.map { ($0.name, "under \($0.header)", $0.keys) }

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
            if let table = Settings.rows.first(where: { $0.name == key }) {
                table.read(&self, node, root, &settings)
            } else {
                top(key, node, into: &settings)
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
                name, node, place: "at the top", known: Settings.keys.map(\.name) + Settings.rows.map(\.name))
        }
        read(key, in: nil, node, into: &settings)
    }

    mutating func read<Section: KeyedTable>(_ table: TOMLNode, in name: String, into section: inout Section) {
        guard case .table(let members) = table.value else {
            let remedy = table.hasTables ? "; one bracket on each side: write [\(name)]" : ""
            note(table, aboutKey: true, "\(name): found \(table.found); allowed: a table [\(name)]\(remedy)")
            return
        }
        read(members, in: name, header: "[\(name)]", into: &section)
    }

    private mutating func read<Section: KeyedTable>(
        _ members: [(key: String, node: TOMLNode)], in name: String, header: String,
        besideTables tables: [String] = [], into section: inout Section
    ) {
        for (keyName, node) in members where !tables.contains(keyName) {
            guard let key = Section.keys.first(where: { $0.name == keyName }) else {
                unknown(keyName, node, place: "in \(header)", known: Section.keys.map(\.name) + tables)
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

    mutating func providers(_ node: TOMLNode) -> [Settings.Provider] {
        var providers: [Settings.Provider] = []
        for table in tables(node, named: "provider", SettingsErrors.providerCounts) {
            let provider: Settings.Provider? = filled(table, in: "provider", besideTables: ["template"]) {
                (provider, errors) in
                provider.template = table.node.member("template").map { errors.template($0) }
                errors.judgeName(provider.name, "provider", table.node, beside: providers.map(\.name))
            }
            if let provider { providers.append(provider) }
        }
        judgeShadows(providers, in: node)
        return providers
    }

    /// Reads an element of an array of tables.
    ///
    /// - Parameter complete: reads subtables and checks the name; runs even if a key is invalid.
    /// - Returns: nil if a value is invalid, or a required key is missing.
    mutating func filled<Element: KeyedElement>(
        _ table: Table, in name: String, besideTables tables: [String] = [],
        complete: (inout Element, inout SettingsErrors) -> Void = { _, _ in }
    ) -> Element? {
        let before = all.count
        var element = Element.empty
        read(table.members, in: name, header: "[[\(name)]]", besideTables: tables, into: &element)
        complete(&element, &self)
        // A key with an invalid value counts as missing; a second error would only repeat the first.
        guard all.count == before else { return nil }
        let given = Set(table.members.filter { !$0.node.isEmpty }.map(\.key))
        for (key, example) in Element.required where !given.contains(key) {
            note(
                table.node, aboutKey: true,
                "this [[\(name)]] has no \(key); write, for example, \(key) = \(example)")
        }
        note(element.contradictions(given), in: table.node)
        return element.completed(given)
    }

    /// Complains about a name that another element of the array has.
    mutating func judgeName(_ name: String, _ table: String, _ node: TOMLNode, beside others: [String]) {
        guard others.contains(name) else { return }
        note(
            node.member("name") ?? node,
            "\(table).name: found \(quoted(name)) for the second time; allowed: names that differ")
    }

    mutating func receivers(_ node: TOMLNode) -> [Settings.Receiver] {
        tables(node, named: "notify", SettingsErrors.receiverCounts).compactMap { filled($0, in: "notify") }
    }

    private mutating func template(_ table: TOMLNode) -> Settings.Provider.Template {
        let before = all.count
        var template = Settings.Provider.Template(query: "")
        read(table, in: "provider.template", into: &template)
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

    /// - Parameters:
    ///   - root: the document with one [[rule]].
    ///   - providers: the names of the providers; likewise for nameservers.
    mutating func rule(from root: TOMLNode, providers: [String], nameservers: [String]) -> Settings.Rule? {
        root.member("rule").flatMap { rules($0, providers: providers, nameservers: nameservers).first }
    }

    mutating func rules(_ node: TOMLNode, providers: [String], nameservers: [String]) -> [Settings.Rule] {
        var rules: [Settings.Rule] = []
        var elements: [TOMLNode] = []
        for (element, members) in tables(node, named: "rule", SettingsErrors.ruleCounts) {
            let before = all.count
            var rule = Settings.Rule(match: [])
            read(members, in: "rule", header: "[[rule]]", into: &rule)
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
        if rule.terms.preferAddresses != nil { judgePreferred(rule, element) }
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

    /// Checks the keys of preferred addresses, which need a certificate for the name.
    private mutating func judgePreferred(_ rule: Settings.Rule, _ element: TOMLNode) {
        let others = [("probe = false", rule.terms.probe == false), ("connect", rule.terms.connect != nil)]
        for (other, isSet) in others where isSet {
            note(
                element.member("prefer-addresses") ?? element,
                "rule.prefer-addresses: found with \(other); allowed: without, as only verified addresses are given")
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

    /// Whether the value is an empty string, array or table, which stands for a key that is not there.
    fileprivate var isEmpty: Bool {
        switch value {
        case .string(let text): text.isEmpty
        case .array(let elements): elements.isEmpty
        case .table(let members): members.isEmpty
        case .boolean, .integer, .float, .dateOrTime: false
        }
    }

    func member(_ key: String) -> TOMLNode? {
        guard case .table(let members) = value else { return nil }
        return members.first { $0.key == key }?.node
    }
}
