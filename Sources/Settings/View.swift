// The operator's settings of views: clients, by their networks, with rules, providers and a client subnet of their own.

package import DNSWire

extension Settings {
    package struct View: Equatable, Sendable {
        /// The name, by which rules select the view; different from the names of the other views.
        package var name: String
        /// The networks of the clients: 1 to 64, none on loopback, each in one view alone. Of several that have a
        /// client, the longest decides.
        package var clients: [Prefix]
        /// The names of the providers; empty: all without `viewsOnly`.
        package var providers: [String] = []
        /// The subnet sent instead of each provider's; nil: by the provider's settings.
        package var clientSubnet: Provider.ClientSubnet?
        /// The number, as in `ClientGroup`: from 1, in the order of the file, until `ViewNumbers` assigns another one.
        package fileprivate(set) var number: UInt32 = 0
    }
}

extension Settings.View: KeyedElement {
    /// Maximum number of networks, which are compared one by one with the address of a client.
    private static let maxClients = 64

    static let empty = Self(name: "", clients: [])
    static let required: KeyValuePairs = ["name": "\"guests\"", "clients": "[\"192.168.7.0/24\"]"]

    static let keys: [Key<Settings.View>] = [
        Key("name", \.name, .plainName),
        Key("clients", \.clients, Format.prefix.list(of: "strings \"ADDR/LENGTH\"", 1...maxClients)),
        Key(
            "providers", \.providers,
            Format.providerName.list(of: "names of [[provider]]", 0...SettingsErrors.maxProviders).leavingOut([])),
        Key("client-subnet", \.clientSubnet, Format.clientSubnet.orEmpty()),
    ]

    func completed(_ given: Set<String>) -> Self? { name.isEmpty || clients.isEmpty ? nil : self }

    func contradictions(_ given: Set<String>) -> [Contradiction] { [] }
}

extension SettingsErrors {
    static let viewCounts = 0...16

    mutating func views(_ node: TOMLNode, beside providers: [String]) -> [Settings.View] {
        var views: [Settings.View] = []
        for table in tables(node, named: "view", SettingsErrors.viewCounts) {
            guard var view = filled(table, in: "view") as Settings.View? else { continue }
            view.number = UInt32(views.count + 1)
            judgeName(view.name, "view", table.node, beside: views.map(\.name))
            judgeRepeated(view.clients, "view.clients", table.node.member("clients"))
            judgeRepeated(view.providers, "view.providers", table.node.member("providers"))
            judge(view.clients, table.node.member("clients"), beside: views)
            for (name, node) in zip(view.providers, table.node.member("providers")?.elements ?? []) {
                judgeKnown(name, "view.providers", node, providers)
            }
            views.append(view)
        }
        return views
    }

    private mutating func judge(_ clients: [Prefix], _ node: TOMLNode?, beside views: [Settings.View]) {
        for (prefix, node) in zip(clients, node?.elements ?? []) {
            if prefix.isLoopback {
                note(node, "view.clients: found \"\(prefix)\"; allowed: other machines, as this one is in no view")
            }
            if let other = views.first(where: { $0.clients.contains(prefix) }) {
                note(
                    node,
                    "view.clients: found \"\(prefix)\", which view \(quoted(other.name)) has; allowed: in one of both")
            }
        }
    }

    /// Checks the keys that depend on other tables.
    mutating func judgeViews(_ settings: Settings, in root: TOMLNode) {
        let names = settings.views.map(\.name)
        for (rule, node) in zip(settings.rules, root.member("rule")?.elements ?? []) {
            guard let view = rule.view else { continue }
            judgeKnown(view, "rule.view", node.member("view") ?? node, names, orElse: "the name of a [[view]]")
        }
        for (view, node) in zip(settings.views, root.member("view")?.elements ?? []) {
            for (prefix, node) in zip(view.clients, node.member("clients")?.elements ?? [])
            where !settings.server.allow.contains(where: { $0.overlaps(prefix) }) && !prefix.isLoopback {
                note(
                    node,
                    "view.clients: found \"\(prefix)\", whose clients may not query; add it to server.allow")
            }
            let ours = settings.providers.filter { view.providers.contains($0.name) }
            if let list = node.member("providers"), !ours.isEmpty,
                ours.allSatisfy({ $0.hasOwnNames || $0.shadow != nil })
            {
                note(
                    list,
                    "view.providers: found only providers with names or shadow; allowed: with at least one without, "
                        + "for all other names")
            }
        }
        guard all.isEmpty, settings.providers.allSatisfy({ $0.viewsOnly || $0.shadow != nil }),
            let node = root.member("provider")?.elements.first(where: { $0.member("views-only") != nil })
        else { return }
        note(
            node.member("views-only") ?? node, aboutKey: true,
            "provider.views-only: found in every [[provider]]; allowed: with at least one for clients without a view")
    }
}

extension Settings {
    /// Gives each provider the client subnets of views.
    mutating func giveSubnetsOfViews() {
        let subnets = views.compactMap { view in view.clientSubnet.map { (view.number, $0) } }
        for provider in providers.indices where providers[provider].dialect.accepts(.clientSubnet) {
            providers[provider].clientSubnetOfView = Dictionary(uniqueKeysWithValues: subnets)
        }
    }
}

/// Gives views their numbers. A view that a reload changes gets a new number, so that answers for the old one, cached
/// or in flight, never reach its clients.
package struct ViewNumbers {
    private var last: UInt32

    /// - Parameter settings: the settings at the start.
    package init(_ settings: Settings) {
        last = UInt32(settings.views.count)
    }

    /// - Parameter former: the settings in force. Views that both settings have keep their numbers.
    package mutating func assign(to settings: inout Settings, after former: Settings) {
        for index in settings.views.indices {
            let known = former.views.first { $0.isLike(settings.views[index]) }
            if known == nil { last += 1 }
            settings.views[index].number = known?.number ?? last
        }
        settings.giveSubnetsOfViews()
    }
}

extension Settings.View {
    /// Whether the two have the same terms, whatever their numbers are.
    fileprivate func isLike(_ other: Settings.View) -> Bool {
        var other = other
        other.number = number
        return self == other
    }
}

extension Prefix {
    fileprivate var isLoopback: Bool { address.isLoopback && length >= 8 }

    fileprivate func overlaps(_ other: Prefix) -> Bool { contains(other.address) || other.contains(address) }
}

extension TOMLNode {
    var elements: [TOMLNode] { if case .array(let elements) = value { elements } else { [] } }
}
