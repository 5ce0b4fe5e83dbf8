// Converts settings, stored answers and policies between the types of the modules.

import DNSWire
import LinuxIO
import Network
import Resolver
import Serving
import Settings
import Upstreams

extension Partition {
    /// Derives the cache key of a network. It also depends on the client subnets and the parameters configured for
    /// providers, because their answers do, and on which ones filter: what the others answered before would undo the
    /// filter. Stable across restarts.
    ///
    /// - Parameter network: nil if the settings disable network watching.
    init(_ network: NetworkID?, _ providers: [Settings.Provider]) {
        let told =
            providers.compactMap { provider in
                provider.clientSubnet.map { "\(provider.name) \($0)" }
            } + providers.flatMap(\.toldParameters) + providers.filter(\.filters).map { "\($0.name) filters" }
        // FNV-1a (Fowler, Noll, Vo) distributes well. Deliberate collisions are no concern: only the operator sets the
        // input.
        let digest = told.sorted().joined(separator: "\n").utf8.reduce(UInt32(0x811C_9DC5)) { digest, byte in
            (digest ^ UInt32(byte)) &* 0x0100_0193
        }
        let part = told.isEmpty ? 0 : digest
        self.init(rawValue: network.map { $0.rawValue ^ part } ?? (told.isEmpty ? 1 : part))
    }

    /// Key while a change of the network is in progress. Nothing is ever stored under it.
    static let inTransit = Partition(rawValue: 0)
}

extension Settings.Provider {
    /// The parameters of its requests, each set with what it applies to; empty without any.
    fileprivate var toldParameters: [String] {
        let own = parameters.isEmpty ? [] : ["\(name) parameters \(parameters)"]
        return own + parametersOfNames.map { "\(name) parameters of \($0) \($1)" }
    }
}

extension ServingState {
    func set(_ partition: Partition, _ settings: Settings) {
        let subnets = settings.providers.map(\.clientSubnet) + settings.views.map(\.clientSubnet)
        let views = settings.views.map { ($0.number, $0.clients) }
        set(
            partition, dependsOnClient: subnets.contains(.auto), sendsSubnet: subnets.contains { $0 != nil },
            views: ClientViews(Dictionary(uniqueKeysWithValues: views)))
    }
}

extension Policy {
    /// - Parameters:
    ///   - providers: those that rules may name, as the nameservers.
    ///   - lists: those of the rules, by path.
    ///   - added: rules that the operator added at run time.
    ///   - links: the domains that links announce.
    init(
        _ settings: Settings, _ providers: [Provider], _ nameservers: [NamedServer] = [],
        lists: [String: NameList] = [:], added: [Settings.Rule] = [], links: LinkDomains = LinkDomains()
    ) {
        let upstreamOfName = Dictionary(
            providers.map { ($0.name, NameUpstreams.provider($0.id)) }
                + nameservers.map { ($0.name, .nameserver($0.id)) }
        ) { first, _ in first }
        self.init()
        cache = CachePolicy(
            minTTLSeconds: settings.cache.minTTL.unsignedSeconds, maxTTLSeconds: settings.cache.maxTTL.unsignedSeconds,
            negativeMaxTTLSeconds: settings.cache.negativeMaxTTL.unsignedSeconds)
        stale.maxAgeSeconds = settings.stale.maxAge.unsignedSeconds
        stale.answerTTLSeconds = settings.stale.answerTTL.unsignedSeconds
        stale.clientTimeout = settings.stale.clientTimeout
        stale.recheck = settings.stale.recheck
        stale.lastKnownGood = settings.stale.lastKnownGood
        systemPatience = settings.systemResolver.patience
        prefetches = settings.prefetch.enabled
        kept = settings.prefetch.keep
        partition = Partition(nil, settings.providers).rawValue
        probes.isEnabled = settings.probe.enabled
        probes.ports = settings.probe.ports
        standsIn = settings.systemResolver.standsIn
        blockedAnswer = settings.blockedAnswer
        order = settings.systemResolver.order
        comparison = settings.systemResolver.comparison
        accounts = AccountTable(providers.map(\.ownNames))
        onlyListed = settings.onlyListed
        isSystemOnly = settings.avoidsProviders
        localZones = LocalZones(settings.localZones)
        self.links = LinkRoutes(links) { link in nameservers.first { $0.link == link }?.id }
        let converted = settings.rules.map { Rule($0, upstreamOfName, lists) }
        let overriding = nameservers.map { Rule($0) } + added.map { Rule($0, upstreamOfName) }
        setRules(converted, of: settings, view: nil, overriding: overriding)
        views = settings.views.map { view in
            var policy = self
            policy.setProviders(of: view, providers)
            policy.setRules(converted, of: settings, view: view.name, overriding: overriding)
            return ClientView(name: view.name, number: view.number, policy: policy)
        }
    }

    /// Names of an account go to its provider alone, since the others may not be the view's. Those that a provider has
    /// exclusively go to it in every view. The system resolver takes no part unless a rule says so: it may know a name
    /// that a filtering provider denies.
    private mutating func setProviders(of view: Settings.View, _ providers: [Provider]) {
        guard !view.providers.isEmpty else { return }
        (standsIn, order) = (.never, .providersFirst)
        let ours = providers.filter { view.providers.contains($0.name) }
        self.providers = ours.filter { !$0.settings.hasOwnNames }.map(\.id)
        let owners = providers.filter { view.providers.contains($0.name) || $0.settings.exclusive }
        accounts = AccountTable(owners.map { AccountNames($0.id, $0.ownNames.names, isExclusive: true) })
    }

    /// - Parameters:
    ///   - converted: the rules of the settings. Rules of other views are left out.
    ///   - view: its name; nil: the clients without a view.
    private mutating func setRules(
        _ converted: [Rule], of settings: Settings, view: String?, overriding: [Rule]
    ) {
        // The others keep their places: `explain` numbers the rules as in the file.
        var all = zip(settings.rules, converted).map { rule, converted in
            rule.view == nil || rule.view == view ? converted : Rule()
        }
        rules = RuleTable(all, overriding: overriding)
        let forLinks = zip(settings.rules, all).filter { $0.0.isForAnnouncedDomains }.map(\.1)
        guard !forLinks.isEmpty else { return }
        let announced = links.domains { isReserved($0, isOfTunnel: $1) }
        all += forLinks.filter { $0.upstreams == .link }.map { rule in
            var rule = rule
            rule.match = announced
            return rule
        }
        rules = RuleTable(all, overriding: overriding)
    }
}

extension Settings {
    /// True if `direct-only` is set and a proxy is configured. The proxy resolves names itself, so clients must not
    /// dial resolved addresses directly; mobile SDKs do the same.
    var avoidsProviders: Bool { directOnly && Machine.proxyVariable != nil }
}

extension RestoredAnswer {
    init(_ entry: RestoredEntry, now: Instant) {
        self.init(
            entry.question, demandPerSecond: entry.demand, lifetimeSeconds: entry.lifetimeSeconds,
            expiresAt: now + .milliseconds(entry.freshForMilliseconds), isNegative: entry.isNegative,
            isSystems: entry.sourceClass == .system)
    }
}

extension RestoredAnswer {
    /// An answer of a name that is kept fresh, in use or not.
    init(_ entry: CachedEntry, now: Instant) {
        let storedAt = now - .milliseconds(Clock.millisecondsSinceBoot(now) - entry.storedAtMilliseconds)
        self.init(
            entry.question, demandPerSecond: 0, lifetimeSeconds: entry.lifetimeSeconds,
            expiresAt: storedAt + .seconds(Int64(entry.lifetimeSeconds)), isNegative: entry.answer.isNegative,
            isSystems: entry.sourceClass == .system)
    }
}

extension Rule {
    /// The names that belong to a nameserver.
    init(_ nameserver: NamedServer) {
        self.init(match: nameserver.settings.names)
        upstreams = .nameserver(nameserver.id)
    }

    init(
        _ rule: Settings.Rule, _ upstreamOfName: [String: NameUpstreams], _ lists: [String: NameList] = [:]
    ) {
        self.init(match: rule.match)
        self.lists = rule.matchFiles.map { RuleList(path: $0, names: lists[$0] ?? .empty) }
        upstreams = rule.resolver.map { resolver in
            switch resolver {
            case .httpdns: .providers
            case .system: .system
            case .link: .link
            case .provider(let name): upstreamOfName[name] ?? .providers
            // One that an added rule names, and that the settings lack: its names get no answer.
            case .nameserver(let name): upstreamOfName[name] ?? .nothing(.removed)
            }
        }
        terms = rule.terms
        isOfView = rule.view != nil
        answer = RuleAnswer(rule)
        origin =
            switch rule.place {
            case .none: nil
            case .file(let file, let line): .file(file, line: line)
            case .added(let end): .added(untilSecondsSince1970: end)
            }
    }
}

extension RuleAnswer {
    /// Returns nil if upstreams answer for the rule's names.
    fileprivate init?(_ rule: Settings.Rule) {
        let remark = rule.extendedError.map { ExtendedError($0) }
        switch rule.answer {
        case .refusal(.noSuchName): self = .noSuchName(remark ?? .blockedByRule)
        case .refusal(.noData): self = .noData(remark ?? .blockedByRule)
        case .refusal(.refused): self = .refused(remark ?? .blockedByRule)
        case .addresses(let addresses):
            self = .records(addresses: addresses, texts: rule.txt, services: rule.srv, remark)
        case nil:
            if let target = rule.cname {
                self = .alias(target)
            } else if !rule.txt.isEmpty || !rule.srv.isEmpty {
                self = .records(addresses: [], texts: rule.txt, services: rule.srv, remark)
            } else {
                return nil
            }
        }
    }
}

extension ExtendedError {
    fileprivate init(_ setting: Settings.Rule.BlockingError) {
        switch setting {
        case .blocked: self = .blockedByRule
        case .censored: self = .censoredByRule
        case .filtered: self = .filteredByRule
        }
    }
}
