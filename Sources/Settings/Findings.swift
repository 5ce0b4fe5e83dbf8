// Walks the values of a file, section by section, and collects whatever is wrong with them instead of stopping.

struct Findings {
    struct Finding {
        let node: Int
        let isAboutKey: Bool
        let text: String
    }

    private(set) var all: [Finding] = []

    /// Each provider costs connections, memory and statistics.
    private static let maxProviders = 32

    /// Means nothing if there are findings afterwards.
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
            case "control": read(Settings.Control.keys, in: key, of: node, into: &settings.control)
            case "log": read(Settings.Log.keys, in: key, of: node, into: &settings.log)
            default: unknown(key, node, place: "at the top", known: Settings.sectionNames)
            }
        }
        judgeListen(settings.server, in: root)
        judgeTTLs(settings.cache, in: root)
        return settings
    }

    private mutating func read<Section>(
        _ keys: [Key<Section>], in name: String, of table: TOMLNode, into section: inout Section
    ) {
        guard case .table(let members) = table.value else {
            note(table, aboutKey: true, "\(name): found \(table.found); allowed: a table [\(name)]")
            return
        }
        read(keys, in: name, header: "[\(name)]", of: members, into: &section)
    }

    private mutating func read<Section>(
        _ keys: [Key<Section>], in name: String, header: String, of members: [(key: String, node: TOMLNode)],
        into section: inout Section
    ) {
        for (keyName, node) in members {
            guard let key = keys.first(where: { $0.name == keyName }) else {
                unknown(keyName, node, place: "in \(header)", known: keys.map(\.name))
                continue
            }
            do throws(Misfit) {
                try key.read(node, &section)
            } catch {
                all += error.faults.map {
                    Finding(node: $0.node, isAboutKey: false, text: "\(name).\(keyName): \($0.text)")
                }
            }
        }
    }

    private mutating func providers(_ node: TOMLNode) -> [Settings.Provider] {
        guard case .array(let elements) = node.value else {
            note(node, aboutKey: true, "provider: found \(node.found); allowed: tables [[provider]]")
            return []
        }
        guard (1...Findings.maxProviders).contains(elements.count) else {
            note(
                node, aboutKey: true, "provider: found \(elements.count) tables; allowed: 1 to \(Findings.maxProviders)"
            )
            return []
        }
        var providers: [Settings.Provider] = []
        for element in elements {
            guard case .table(let members) = element.value else {
                note(element, "provider: found \(element.found); allowed: tables [[provider]]")
                continue
            }
            let before = all.count
            var draft = ProviderDraft()
            read(ProviderDraft.keys, in: "provider", header: "[[provider]]", of: members, into: &draft)
            if let name = draft.name, providers.contains(where: { $0.name == name }) {
                note(
                    element.member("name") ?? element,
                    "provider.name: found \(quoted(name)) for the second time; "
                        + "allowed: names that differ")
            }
            // A key that did not fit counts as missing; saying so would only repeat the first complaint.
            guard all.count == before else { continue }
            for (key, text) in draft.contradictions {
                note(key.flatMap { element.member($0) } ?? element, aboutKey: key == nil, text)
            }
            providers += draft.provider.map { [$0] } ?? []
        }
        return providers
    }

    private mutating func judgeListen(_ server: Settings.Server, in root: TOMLNode) {
        guard case .array(let nodes) = root.member("server")?.member("listen")?.value else { return }
        guard nodes.count == server.listen.count else { return }
        for (index, endpoint) in server.listen.enumerated()
        where endpoint.port != 0 && server.listen[..<index].contains(endpoint) {
            note(nodes[index], "server.listen: found \"\(endpoint)\" for the second time; allowed: each once")
        }
    }

    private mutating func judgeTTLs(_ cache: Settings.Cache, in root: TOMLNode) {
        guard cache.minTTL > cache.maxTTL, let section = root.member("cache") else { return }
        guard let node = section.member("min-ttl") ?? section.member("max-ttl") else { return }
        let write = Format<Duration>.duration(.zero...cache.minTTL).write
        let (least, most) = (write(cache.minTTL) ?? "", write(cache.maxTTL) ?? "")
        note(node, "cache.min-ttl: found \(least), more than cache.max-ttl, which is \(most); allowed: at most that")
    }

    private mutating func unknown(_ key: String, _ node: TOMLNode, place: String, known: [String]) {
        let hint = nearestName(to: key, among: known).map { "; did you mean \"\($0)\"?" } ?? ";"
        note(
            node, aboutKey: true,
            "unknown key \(quoted(key)) \(place)\(hint) allowed: \(known.joined(separator: ", "))")
    }

    private mutating func note(_ node: TOMLNode, aboutKey: Bool = false, _ text: String) {
        all.append(Finding(node: node.index, isAboutKey: aboutKey, text: text))
    }
}

extension TOMLNode {
    func member(_ key: String) -> TOMLNode? {
        guard case .table(let members) = value else { return nil }
        return members.first { $0.key == key }?.node
    }
}
