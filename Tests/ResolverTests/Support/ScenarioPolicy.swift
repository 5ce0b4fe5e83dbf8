// The settings of a scenario. Each may be given at the beginning and changed later. The rest have their defaults,
// except that answers are refreshed ahead only if the scenario says so.

import DNSWire
import TestSupport

@testable import Resolver

struct ScenarioPolicy {
    private(set) var policy = Policy()
    private var rules: [Rule] = []
    private var accounts: [AccountNames] = []
    private var links = LinkDomains()

    init() {
        policy.prefetches = false
    }

    /// Whether any name may be refreshed ahead.
    var allowsPrefetch: Bool {
        policy.prefetches || !policy.kept.isEmpty || rules.contains { $0.terms.prefetch == true }
    }

    /// Reads one setting: "stands-in WHEN", "order ORDER", "ttl MIN to MAX negative MAX" in seconds, "prefetch [off]",
    /// "keep NAME ...", "partition NUMBER", "probes [off]", "stale [max-age TIME] [answer-ttl TIME] [client-timeout
    /// TIME] [recheck TIME]", "patience TIME", "blocked-answer WORD", "only-listed", "rule NAME ..." with the terms of
    /// the rule, "account PROVIDER [exclusive] NAME ...", or "link PROVIDER NAME ...", which has no names if the link
    /// has ended.
    ///
    /// - Returns: false if the line is not about a setting; nothing of it was read then.
    mutating func change(_ line: inout ScenarioLine, providers: [String]) throws -> Bool {
        if line.take("ttl") {
            policy.cache = try cachePolicy(&line)
        } else if line.take("prefetch") {
            policy.prefetches = !line.take("off")
        } else if line.take("keep") {
            policy.kept = try names(&line)
        } else if line.take("partition") {
            policy.partition = try line.number("a partition")
        } else if line.take("probes") {
            policy.probes.isEnabled = !line.take("off")
        } else if line.take("stale") {
            try changeStale(&line)
        } else if line.take("stands-in") {
            policy.standsIn = try standsIn(&line)
        } else if line.take("order") {
            policy.order = try order(&line)
        } else if line.take("blocked-answer") {
            policy.blockedAnswer = try blockedAnswer(&line)
        } else if line.take("patience") {
            policy.systemPatience = try line.duration()
        } else if line.take("only-listed") {
            policy.onlyListed = true
        } else if line.take("rule") {
            rules.append(try rule(&line, providers))
            policy.rules = RuleTable(rules)
        } else if line.take("link") {
            let interface = try line.word("a provider")
            try announce(interface, names(&line), providers, line)
        } else if line.take("account") {
            let account = try account(&line, providers)
            accounts.removeAll { $0.provider == account.provider }
            accounts.append(account)
            policy.accounts = AccountTable(accounts)
        } else {
            return false
        }
        try line.end()
        return true
    }

    private mutating func announce(
        _ interface: String, _ domains: [Name], _ providers: [String], _ line: ScenarioLine
    ) throws {
        _ = try provider(interface, providers, line)
        let others = links.links.filter { $0.interface != interface }
        let link = AnnouncingLink(interface: interface, servers: [], domains: domains)
        links.set(domains.isEmpty ? others : others + [link])
        policy.links = LinkRoutes(links) { name in providers.firstIndex(of: name).map { NameserverID($0) } }
    }

    private func names(_ line: inout ScenarioLine) throws -> [Name] {
        var names: [Name] = []
        while !line.isAtEnd {
            let text = try line.word("a name")
            guard let name = Name(text) else { throw line.error("\"\(text)\" is no name") }
            names.append(name)
        }
        return names
    }

    private func cachePolicy(_ line: inout ScenarioLine) throws -> CachePolicy {
        let lowest: UInt32 = try line.number("the lowest TTL")
        try line.require("to")
        let highest: UInt32 = try line.number("the highest TTL")
        try line.require("negative")
        return CachePolicy(
            minTTLSeconds: lowest, maxTTLSeconds: highest,
            negativeMaxTTLSeconds: try line.number("the highest TTL of negative answers"))
    }

    private mutating func changeStale(_ line: inout ScenarioLine) throws {
        repeat {
            switch try line.word("a setting of [stale]") {
            case "max-age": policy.stale.maxAgeSeconds = try seconds(&line)
            case "answer-ttl": policy.stale.answerTTLSeconds = try seconds(&line)
            case "client-timeout": policy.stale.clientTimeout = try line.duration()
            case "recheck": policy.stale.recheck = try line.duration()
            case "last-known-good": policy.stale.lastKnownGood = try line.duration()
            case let word: throw line.error("\"\(word)\" instead of a setting of [stale]")
            }
        } while !line.isAtEnd
    }

    /// Reads "NAME" and one or more of "stale on|off", "stale-negative on|off", "prefetch on|off", "probe on|off",
    /// "allow-private on|off", "stands-in WHEN", "order ORDER", "family FAMILY", "resolver
    /// httpdns|system|link|PROVIDER|nameserver PROVIDER", "min-ttl TIME", "max-ttl TIME", "fallback ADDRESS" (once for
    /// each address), "prefer PREFIX" (once for each range), "expect" and the words that `expect` reads.
    private func rule(_ line: inout ScenarioLine, _ providers: [String]) throws -> Rule {
        let name = try line.word("a name")
        guard let match = Name(name) else { throw line.error("\"\(name)\" is no name") }
        var rule = Rule(match: [match])
        repeat {
            switch try line.word("what the rule says") {
            case "stale": rule.terms.stale = try isOn(&line)
            case "stale-negative": rule.terms.staleNegative = try isOn(&line)
            case "prefetch": rule.terms.prefetch = try isOn(&line)
            case "probe": rule.terms.probe = try isOn(&line)
            case "resolver": rule.upstreams = try upstreams(&line, providers)
            case "stands-in": rule.terms.standsIn = try standsIn(&line)
            case "order": rule.terms.order = try order(&line)
            case "family": rule.terms.family = try family(&line)
            case "allow-private": rule.terms.allowPrivate = try isOn(&line)
            case "min-ttl": rule.terms.minTTL = try line.duration()
            case "max-ttl": rule.terms.maxTTL = try line.duration()
            case "fallback":
                let text = try line.word("an address")
                guard let address = Address(text) else { throw line.error("\"\(text)\" is no address") }
                rule.terms.fallbackAddresses = (rule.terms.fallbackAddresses ?? []) + [address]
            case "expect": try expect(&line, &rule)
            case "prefer":
                let text = try line.word("a range of addresses")
                guard let range = Prefix(text) else { throw line.error("\"\(text)\" is no range") }
                rule.terms.preferAddresses = (rule.terms.preferAddresses ?? []) + [range]
            case let word: throw line.error("\"\(word)\" is nothing that a rule says")
            }
        } while !line.isAtEnd
        return rule
    }

    /// Reads "cname on|off", "max-ttl TIME" or "within PREFIX", once for each term and network.
    private func expect(_ line: inout ScenarioLine, _ rule: inout Rule) throws {
        var expectation = rule.terms.expectation ?? RuleExpectation()
        switch try line.word("cname, max-ttl or within") {
        case "cname": expectation.hasAlias = try isOn(&line)
        case "max-ttl": expectation.maxTTL = try line.duration()
        case "within":
            let text = try line.word("a prefix")
            guard let prefix = Prefix(text) else { throw line.error("\"\(text)\" is no prefix") }
            expectation.networks.append(prefix)
        case let word: throw line.error("\"\(word)\" instead of cname, max-ttl or within")
        }
        rule.terms.expectation = expectation
    }

    /// Reads "PROVIDER [exclusive] NAME|=NAME ...": the names replace the provider's former ones.
    private func account(_ line: inout ScenarioLine, _ providers: [String]) throws -> AccountNames {
        let provider = try provider(try line.word("a provider"), providers, line)
        let isExclusive = line.take("exclusive")
        var names: [QuestionScope] = []
        while !line.isAtEnd {
            let word = try line.word("a name")
            let isExact = word.hasPrefix("=")
            guard let name = Name(isExact ? String(word.dropFirst()) : word) else {
                throw line.error("\"\(word)\" is no name")
            }
            names.append(QuestionScope(name, includesDescendants: !isExact))
        }
        return AccountNames(provider, names, isExclusive: isExclusive)
    }

    private func upstreams(_ line: inout ScenarioLine, _ providers: [String]) throws -> NameUpstreams {
        switch try line.word("httpdns, system or a provider") {
        case "httpdns": return .providers
        case "system": return .system
        case "link": return .link
        case "nameserver":
            let name = try line.word("a nameserver")
            return .nameserver(NameserverID(try provider(name, providers, line).number))
        case let name: return .provider(try provider(name, providers, line))
        }
    }

    private func provider(_ name: String, _ providers: [String], _ line: ScenarioLine) throws -> ProviderID {
        guard let number = providers.firstIndex(of: name) else { throw line.error("no provider \"\(name)\"") }
        return ProviderID(number)
    }

    private func standsIn(_ line: inout ScenarioLine) throws -> StandInPolicy {
        let word = try line.word("unreachable, any-failure or never")
        guard let policy = StandInPolicy(rawValue: word) else {
            throw line.error("\"\(word)\" is no value of stands-in")
        }
        return policy
    }

    private func blockedAnswer(_ line: inout ScenarioLine) throws -> BlockedAnswer {
        let word = try line.word("nxdomain, nodata or 0.0.0.0")
        guard let answer = BlockedAnswer(rawValue: word) else {
            throw line.error("\"\(word)\" is no value of blocked-answer")
        }
        return answer
    }

    private func order(_ line: inout ScenarioLine) throws -> UpstreamOrder {
        let word = try line.word("providers-first or system-first")
        guard let order = UpstreamOrder(rawValue: word) else { throw line.error("\"\(word)\" is no value of order") }
        return order
    }

    private func family(_ line: inout ScenarioLine) throws -> FamilyPolicy {
        let word = try line.word("a family")
        guard let family = FamilyPolicy(rawValue: word) else { throw line.error("\"\(word)\" is no value of family") }
        return family
    }

    private func isOn(_ line: inout ScenarioLine) throws -> Bool {
        if line.take("on") { return true }
        try line.require("off")
        return false
    }

    private func seconds(_ line: inout ScenarioLine) throws -> UInt32 { UInt32(try line.duration() / .seconds(1)) }
}
