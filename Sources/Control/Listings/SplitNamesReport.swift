// `network names`: the names that only the network in use has, or has otherwise than the providers, with what each
// source said, and the rules that send them to the system resolver.

package struct SplitNamesReport: Report, Codable, Equatable {
    /// The ID of the network; empty if there is none or it is not monitored.
    package let network: String
    package let names: [Found]
    package let suffixes: [Suffix]
    /// Addresses that the system resolver gives for names that do not exist.
    package let invented: [String]
    /// The rules that were added; nil: none were requested.
    package var written: [AddedRuleReport]?

    package init(network: String, names: [Found], suffixes: [Suffix], invented: [String]) {
        self.network = network
        self.names = names
        self.suffixes = suffixes
        self.invented = invented
    }

    package struct Found: Codable, Equatable, Sendable {
        package let name: String
        /// "only-here", "private-here" or "verified-here".
        package let kind: String
        /// The suffix that has the name; nil: none is proposed.
        package let suffix: String?
        /// A rule sends the name to a resolver of the network.
        package let isRouted: Bool
        /// What the network's resolvers said, and what the providers said.
        package let here: [Statement]
        package let elsewhere: [Statement]

        package init(
            name: String, kind: String, suffix: String?, isRouted: Bool, here: [Statement], elsewhere: [Statement]
        ) {
            self.name = name
            self.kind = kind
            self.suffix = suffix
            self.isRouted = isRouted
            self.here = here
            self.elsewhere = elsewhere
        }

        package enum CodingKeys: String, CodingKey {
            case name, kind, suffix, here
            case isRouted = "routed"
            case elsewhere = "providers"
        }
    }

    package struct Statement: Codable, Equatable, Sendable {
        /// The name of a provider or nameserver, or "system".
        package let source: String
        package let type: String
        /// "addresses", "no data" or "no such name".
        package let answer: String
        package let addresses: [Judged]
        package let ageSeconds: Int

        package init(source: String, type: String, answer: String, addresses: [Judged], ageSeconds: Int) {
            self.source = source
            self.type = type
            self.answer = answer
            self.addresses = addresses
            self.ageSeconds = ageSeconds
        }

        package enum CodingKeys: String, CodingKey {
            case source, type, answer, addresses
            case ageSeconds = "age_s"
        }
    }

    package struct Judged: Codable, Equatable, Sendable {
        package let address: String
        package let verdict: String

        package init(address: String, verdict: String) {
            self.address = address
            self.verdict = verdict
        }
    }

    package struct Suffix: Codable, Equatable, Sendable {
        package let name: String
        /// The number of names found in it.
        package let count: Int
        /// The network announces it as search domain.
        package let isAnnounced: Bool
        package let isRouted: Bool

        package init(name: String, count: Int, isAnnounced: Bool, isRouted: Bool) {
            self.name = name
            self.count = count
            self.isAnnounced = isAnnounced
            self.isRouted = isRouted
        }

        package enum CodingKeys: String, CodingKey {
            case name, count
            case isAnnounced = "search_domain"
            case isRouted = "routed"
        }
    }

    /// The settings of the rules.
    package static let ruleWords = ["resolver=system"]
}

extension SplitNamesReport {
    package var text: String {
        let added = (written ?? []).map { "added \($0.text)" }
        let inventions =
            invented.isEmpty
            ? []
            : [
                "The system resolver answers for names that do not exist, with \(invented.joined(separator: " ")). "
                    + "Names with public addresses are listed only if these are verified."
            ]
        let place = network.isEmpty ? "" : " on network \(network)"
        let end =
            "; \(counted(names.count, "name", "names")) and \(counted(suffixes.count, "suffix", "suffixes"))\(place)"
        return (added + inventions + suffixes.map(\.line) + names.flatMap(\.lines) + [end]).map { "\($0)\n" }.joined()
    }

    fileprivate static func remedy(_ name: String, isRouted: Bool) -> String {
        isRouted ? "a rule has it" : "httpdnsctl rule add \(name) \(ruleWords.joined(separator: " "))"
    }
}

extension SplitNamesReport.Suffix {
    fileprivate var line: String {
        let search = isAnnounced ? ", a search domain of the network" : ""
        return "\(name): suffix of \(counted(count, "name", "names"))\(search); "
            + SplitNamesReport.remedy(name, isRouted: isRouted)
    }
}

extension SplitNamesReport.Found {
    fileprivate var lines: [String] {
        let remedy = suffix.map { "in \($0)" } ?? SplitNamesReport.remedy(name, isRouted: isRouted)
        return ["\(name): \(kind); \(remedy)"] + (here + elsewhere).map { "  \($0.line)" }
    }
}

extension SplitNamesReport.Statement {
    /// The statement as text: "system A 10.1.2.3, 2m ago".
    fileprivate var line: String {
        let shown = addresses.map { $0.verdict == "unprobed" ? $0.address : "\($0.address) (\($0.verdict))" }
        let what = shown.isEmpty ? answer : shown.joined(separator: " ")
        return "\(source) \(type) \(what), \(LineFormat.span(seconds: ageSeconds)) ago"
    }
}
