// How a daemon that has just started with these settings resolves a question: the daemon's own resolver decides, with
// an empty cache and without measurements. Every upstream counts as reachable, because no packet is sent.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings
import Upstreams

struct FreshStart {
    private let resolver: Resolver
    private let nameOfSource: [Source: String]
    private let serving: ServingState
    private let namesOfStart: [Name]
    private let now: Instant

    /// - Parameters:
    ///   - hosts: all hosts files.
    ///   - lists: the lists of the rules, by path.
    ///   - hasSystem: there is a nameserver to ask.
    init(
        _ settings: Settings, _ accounts: [ProviderAccount], _ hosts: HostsFiles, _ leases: Leases = .none,
        lists: [String: NameList] = [:], hasSystem: Bool, now: Instant
    ) {
        let providers = accounts.enumerated().map { Provider(id: ProviderID($0.offset), $0.element, seed: 0) }
        let nameservers = settings.nameservers.enumerated().map {
            NamedServer(id: NameserverID($0.offset), $0.element)
        }
        var resolver = Resolver(seed: 0)
        var (cache, actions) = (NoAnswers(), [Action]())
        for event in [
            Event.upstreamsChanged(
                providers: providers.map(\.traits) + nameservers.map(\.traits), hasSystem: hasSystem),
            .hostsChanged(hosts), .leasesChanged(leases, new: []),
            .policyChanged(Policy(settings, providers, nameservers, lists: lists)),
        ] {
            resolver.handle(event, now: now, cache: &cache, actions: &actions)
        }
        (self.resolver, self.now) = (resolver, now)
        nameOfSource = Dictionary(
            uniqueKeysWithValues: providers.map { (.provider($0.id), $0.name) }
                + nameservers.map { (.nameserver($0.id), $0.name) })
        serving = ServingState(Partition(nil, settings.providers), seed: 0)
        namesOfStart = settings.prefetch.names
    }

    func report(of question: Question) -> ExplainReport {
        let known = resolver.explanation(of: question, NoAnswers(), now: now)
        let words = ExplainPhrases(known, now: now) { [nameOfSource] in nameOfSource[$0] ?? "" }
        var report = words.outline(.check(order: nil, probe: nil))
        if let local = LocalPolicy(question, serving) {
            report.next = [ExplainPhrases.next(local)]
            return report
        }
        report.stage = .check(order: words.order, probe: words.probe)
        report.expired = words.expired(nil, nil)
        report.refresh = words.refreshToCome.map { refresh in
            let isOfStart = question.type.isAddress && namesOfStart.contains(question.name)
            return isOfStart ? "resolved at the start ([prefetch] names); \(refresh)" : refresh
        }
        report.next = words.next(givenNow: nil, refreshWasAsked: false)
        return report
    }
}

extension FreshStart {
    /// Reads the nameserver files as the daemon does.
    ///
    /// - Parameter complain: called for a file that cannot be read, which the daemon does without.
    init(
        _ settings: Settings, _ secrets: LoadedSecrets, _ options: Options,
        complain: @escaping (_ path: String, SystemError) -> Void
    ) throws(SystemError) {
        let files = try LocalFiles(
            resolvConf: settings.systemResolver.resolvConf, loop: try EventLoop(), outbox: Outbox())
        let nameservers = UpstreamsInForce.nameservers(
            settings.systemResolver, files, options.listenPlaces(settings).addresses, complain: complain)
        self.init(
            settings, secrets.accounts, HostsFiles(secrets.names.hosts),
            Leases(secrets.names.leases, epoch: Clock.epoch()), lists: secrets.names.lists,
            hasSystem: !nameservers.list.servers.isEmpty, now: Clock.now())
    }
}
