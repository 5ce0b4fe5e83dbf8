// The inputs of a vendor's custom resolution beside the name: parameters for all requests to a provider, and parameters
// for requests about the names of a rule.

import DNSWire

extension Settings {
    package struct RequestParameters: Hashable, Sendable {
        /// Alibaba's custom parameters; the names begin with "sdns-". Up to 10 and 1,000 bytes.
        package var query: [String: String] = [:]
        /// Up to 5 tags and 64 bytes.
        package var tags: [String] = []
        package var appID: String?

        package var isEmpty: Bool { self == RequestParameters() }

        /// The custom parameters in the order in which they are sent.
        package var sortedQuery: [(name: String, value: String)] {
            query.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        }

        package init() {}

        /// Returns these parameters with those of `other` added. Those of `other` replace tags, an app id and a query
        /// parameter of the same name.
        func overridden(by other: RequestParameters) -> RequestParameters {
            var merged = self
            merged.query.merge(other.query) { $1 }
            if !other.tags.isEmpty { merged.tags = other.tags }
            merged.appID = other.appID ?? appID
            return merged
        }
    }
}

extension Settings.RequestParameters: CustomStringConvertible {
    /// The text, equal for equal parameters, in this and every other process.
    package var description: String {
        let query = sortedQuery.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        return "\(query) \(tags.joined(separator: ",")) \(appID ?? "")"
    }
}

extension Settings.RequestParameters {
    /// The limits of Alibaba's clients (providers.md 2.2 and 2.3).
    fileprivate static let maxQueryNames = 10
    private static let maxQueryBytes = 1000
    fileprivate static let maxTags = 5
    fileprivate static let maxTagBytes = 64
    fileprivate static let prefix = "sdns-"

    static func isQuery(_ query: [String: String]) -> Bool {
        let bytes = query.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        return query.count <= maxQueryNames && bytes <= maxQueryBytes
            && query.allSatisfy { name, value in
                name.hasPrefix(prefix) && isWord(name.dropFirst(prefix.count), "-_") && isWord(value[...], "-_=")
            }
    }

    static func areTags(_ tags: [String]) -> Bool {
        tags.count <= maxTags && tags.joined(separator: ",").utf8.count <= maxTagBytes
            && tags.allSatisfy { isWord($0[...], "-") } && Set(tags).count == tags.count
    }

    private static func isWord(_ text: Substring, _ others: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte.isDigit || (0x61...0x7A).contains(byte.lowercased) || others.utf8.contains(byte)
            }
    }

    /// The keys of the parameters that are not empty.
    fileprivate var keys: Set<String> {
        Set([("query", !query.isEmpty), ("tags", !tags.isEmpty), ("app-id", appID != nil)].filter(\.1).map(\.0))
    }
}

extension Format<[String: String]> {
    static let requestQuery: Format = {
        let allowed =
            "a table of up to 10 names \"sdns-NAME\" of letters, digits, \"-\" and \"_\", each with a string of "
            + "letters, digits, \"-\", \"_\" and \"=\"; 1,000 bytes in all"
        return Format(
            allowed: allowed,
            schema: .texts(
                named: .matching("\(Settings.RequestParameters.prefix)[0-9A-Za-z_-]+"),
                upTo: Settings.RequestParameters.maxQueryNames, .matching("[0-9A-Za-z_=-]+")),
            read: { node throws(Misfit) in
                guard case .table(let members) = node.value else { throw Misfit(node, .always, allowed: allowed) }
                var query: [String: String] = [:]
                for (name, value) in members {
                    guard case .string(let text) = value.value else { throw Misfit(value, .always, allowed: allowed) }
                    query[name] = text
                }
                guard Settings.RequestParameters.isQuery(query) else { throw Misfit(node, allowed: allowed) }
                return query
            },
            write: { query in
                guard !query.isEmpty else { return nil }
                let pairs = query.sorted { $0.key < $1.key }.map { "\(tomlString($0.key)) = \(tomlString($0.value))" }
                return "{\(pairs.joined(separator: ", "))}"
            }, secrecy: .always)
    }()
}

extension Format<[String]> {
    static let requestTags: Format = {
        let allowed =
            "an array of up to 5 different tags of letters, digits and \"-\"; 64 bytes with commas between them"
        return Format(
            allowed: allowed,
            schema: .list(
                of: .matching("[0-9A-Za-z-]+", maxBytes: Settings.RequestParameters.maxTagBytes),
                0...Settings.RequestParameters.maxTags, areDifferent: true),
            read: { node throws(Misfit) in
                guard case .array(let nodes) = node.value else { throw Misfit(node, .always, allowed: allowed) }
                var tags: [String] = []
                for node in nodes {
                    guard case .string(let tag) = node.value else { throw Misfit(node, .always, allowed: allowed) }
                    tags.append(tag)
                }
                guard Settings.RequestParameters.areTags(tags) else { throw Misfit(node, allowed: allowed) }
                return tags
            },
            write: { tags in tags.isEmpty ? nil : "[\(tags.map(tomlString).joined(separator: ", "))]" },
            secrecy: .always)
    }()
}

extension SettingsErrors {
    /// Gives each provider the parameters of the rules that name it.
    mutating func giveParameters(
        to providers: inout [Settings.Provider], of rules: [Settings.Rule], in node: TOMLNode?
    ) {
        guard all.isEmpty, case .array(let elements) = node?.value else { return }
        var ofNames: [String: [Name: Settings.RequestParameters]] = [:]
        for (rule, element) in zip(rules, elements) where !rule.parameters.isEmpty {
            guard case .provider(let name) = rule.resolver, let provider = providers.first(where: { $0.name == name })
            else {
                note(
                    element, aboutKey: true,
                    "this [[rule]] has query, tags or app-id and no provider that gets them; "
                        + "write resolver = with the name of a [[provider]]")
                continue
            }
            for (key, text) in provider.dialect.misplaced(rule.parameters.keys, tags: rule.parameters.tags) {
                note(element.member(key) ?? element, "rule.\(key): \(text)")
            }
            if rule.view != nil {
                note(
                    element.member("view") ?? element,
                    "rule.view: found with query, tags or app-id; allowed: without, as these are sent for all clients")
            }
            if !rule.matchFiles.isEmpty {
                note(
                    element.member("match-file") ?? element,
                    "rule.match-file: found with query, tags or app-id; allowed: with match, as these are sent for few "
                        + "names")
            }
            for match in rule.match {
                // Of two rules for a name, the first rule counts.
                let others = ofNames[name]?[match] ?? .init()
                ofNames[name, default: [:]][match] = rule.parameters.overridden(by: others)
            }
        }
        for index in providers.indices {
            let own = providers[index].parameters
            guard let rules = ofNames[providers[index].name] else { continue }
            providers[index].parametersOfNames = Dictionary(
                uniqueKeysWithValues: rules.keys.map { name in
                    (
                        name,
                        sequence(first: name, next: \.parent).compactMap { rules[$0] }.reversed()
                            .reduce(own) { $0.overridden(by: $1) }
                    )
                })
        }
        judgeSizes(of: providers, rules, elements)
    }

    /// Checks the sizes of a rule's query parameters together with those of its provider and of rules for names above,
    /// to which they are added.
    private mutating func judgeSizes(
        of providers: [Settings.Provider], _ rules: [Settings.Rule], _ elements: [TOMLNode]
    ) {
        for (rule, element) in zip(rules, elements) where !rule.parameters.query.isEmpty {
            let merged = providers.flatMap { provider in rule.match.compactMap { provider.parametersOfNames[$0] } }
            guard !merged.allSatisfy({ Settings.RequestParameters.isQuery($0.query) }) else { continue }
            note(
                element.member("query") ?? element,
                "rule.query: found too many parameters with those of the provider; allowed: 10 and 1,000 bytes in all")
        }
    }
}
