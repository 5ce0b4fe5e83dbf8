// The policy in force: made of settings, lists, added rules and links, and told to all that follow it. Removes cached
// answers that go against it.

import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings
import Upstreams

final class PolicyInForce {
    private let upstreams: Upstreams
    private let outbox: Outbox
    private let store: StoreThread?
    private let addressSets: AddressSets
    private let cache: AnswerCache
    let lists: NameLists
    let rules: RuntimeRules
    let switches: ProviderSwitches
    private let linkMonitor: LinkMonitor
    /// The settings of the last `set`.
    private var settings = Settings.defaults
    private var fleet: FleetSetup?
    private(set) var links = LinkDomains()
    private(set) var hosts = HostsFiles.none
    private var leases = Leases.none
    /// The policy; nil before the first `set`.
    private var policy: Policy?
    /// The rules under which the store's answers were accepted.
    private var acceptanceOfStore: AcceptanceNote?
    /// The store was read or cannot be read. Kept names wait for this, because the store may have them fresh.
    private var isStoreRead = false
    /// The store's answers are in the cache, and those against the present expectations are removed.
    private var isStoreLoaded = false

    init(
        _ upstreams: Upstreams, _ outbox: Outbox, _ store: StoreThread?, _ cache: AnswerCache,
        _ addressSets: AddressSets, _ lists: NameLists, _ linkMonitor: LinkMonitor
    ) {
        (self.upstreams, self.outbox, self.store) = (upstreams, outbox, store)
        (self.cache, self.addressSets, self.lists, self.linkMonitor) = (cache, addressSets, lists, linkMonitor)
        (switches, rules) = (ProviderSwitches(outbox, hasStore: store != nil), RuntimeRules(outbox, store))
    }

    var timedParts: [any TimedPart] { [switches, rules, lists] }

    // MARK: policy

    /// Providers must be set before, because rules name them.
    func set(_ settings: Settings, _ fleet: FleetSetup?, now: Instant) {
        (self.settings, self.fleet) = (settings, fleet)
        renew(now: now)
    }

    /// Makes the policy anew after a change of lists, added rules or links. Removes cached answers of names whose terms
    /// differ (`Policy.answersDiffering`).
    func renew(now: Instant) {
        let new = Policy(
            settings, upstreams.providers.providers, upstreams.nameservers.all,
            lists: lists.names.lists,
            added: rules.rules, links: links)
        outbox.put(.policyChanged(new, former: policy))
        policy = new
        upstreams.fleet.configure(
            fleet,
            rules: new.acceptanceDigest { $0.map { upstreams.name(of: .nameserver($0)) } ?? "a removed provider" },
            fingerprint: FleetSetup.fingerprint(of: settings), now: now)
        linkMonitor.setOn((settings.rules + rules.rules).contains { $0.resolver == .link }, now: now)
    }

    /// - Parameter new: a policy that the resolver has from now on.
    func follow(_ new: Policy, after former: Policy?, now: Instant) {
        if let former { removeAnswersDiffering(new, from: former, now: now) }
        addressSets.configure(new.rules, cache, socket: settings.control.nftsetSocket, now: now)
    }

    /// Names of lists are not enumerated. Of these, the file forgets the ones in the cache; for more than
    /// `StoreLoop.maxRemovals` it forgets everything.
    private func removeAnswersDiffering(_ new: Policy, from old: Policy, now: Instant) {
        let (scopes, listsDiffer) = (new.answersDiffering(from: old), new.listsDiffer(from: old))
        guard !scopes.isEmpty || listsDiffer else { return }
        for scope in scopes { store?.forget(scope, now: now) }
        var removed: Set<Name> = []
        let concerned = Set(scopes.map(\.name))
        _ = cache.remove { name, _, _ in
            // Cheap, for most of the cache.
            guard listsDiffer || name.isWithin(anyOf: concerned), new.mayDiffer(from: old, for: name) else {
                return false
            }
            if listsDiffer, removed.count <= StoreLoop.maxRemovals { removed.insert(name) }
            return true
        }
        for name in removed.sorted() { store?.forget(QuestionScope(name), now: now) }
        // Earlier, the note would hide that the store's answers were accepted under others.
        if isStoreLoaded { noteAcceptance(now: now) }
    }

    /// Returns the policy for the resolver.
    func announced(_ policy: Policy) -> Policy {
        var policy = policy
        if store != nil, !isStoreRead { policy.kept = [] }
        return policy
    }

    // MARK: links

    /// `renew` puts them in force.
    func setLinks(_ new: [AnnouncingLink]) { links.set(new) }

    func forgetEndedLinks() { links.forgetEnded() }

    /// Returns the domains of the link to which it has no claim.
    func ignoredDomains(of link: AnnouncingLink) -> [Name] { policy?.links.ignored(of: link) ?? [] }

    // MARK: local names

    /// - Parameter changed: files that were read.
    func localNamesChanged(_ changed: [String: LocalNameFile]) {
        if changed.values.contains(where: { !$0.isLeases }) { announceHosts() }
        guard changed.values.contains(where: \.isLeases) else { return }
        announceLeases(of: changed)
    }

    func announceHosts() {
        hosts = HostsFiles(lists.names.hosts)
        outbox.put(.event(.hostsChanged(hosts)))
    }

    func announceLeases(of files: [String: LocalNameFile]) {
        announceLeases(new: files.values.reduce(into: []) { $0.formUnion($1.newNames) })
    }

    private func announceLeases(new: Set<Name>) {
        leases = Leases(lists.names.leases, epoch: Clock.epoch())
        outbox.put(.event(.leasesChanged(leases, new: new)))
        if !new.isEmpty { outbox.put(.leased(new)) }
    }

    /// Removes cached answers, which would hide leases.
    func removeNames(_ names: Set<Name>) { _ = cache.remove { name, _, _ in names.contains(name) } }

    /// Leases end by the wall clock, which a time service may set.
    func followWallClock(now: Instant) {
        guard !leases.isEmpty, PolicyInForce.differ(Clock.epoch(), leases.epoch) else { return }
        // Some of these may be in force again, if the time was set back.
        announceLeases(new: leases.namesWithoutLease(now: now))
    }

    private static func differ(_ epoch: Instant, _ other: Instant) -> Bool {
        max(epoch, other) - min(epoch, other) > .seconds(1)
    }

    /// Removes cached answers that would hide local names until they expire: the cache is searched first.
    static func removeNames(of hosts: HostsFiles, from cache: AnswerCache) {
        _ = cache.remove { name, _, _ in hosts.speaks(of: name) }
    }

    // MARK: store

    /// Takes the note under which the store's answers were accepted. Switches and added rules must be restored before.
    func restore(_ notes: [String: String], now: Instant) {
        if outbox.take(.addedRules) { renew(now: now) }
        acceptanceOfStore = notes[AcceptanceNote.name].flatMap { AcceptanceNote($0) }
        removeAnswersAgainstPolicy()
    }

    /// The store's answers are in the cache.
    ///
    /// - Returns: the names to keep fresh.
    func storeLoaded(now: Instant) -> [Name] {
        PolicyInForce.removeNames(of: hosts, from: cache)
        removeAnswersAgainstPolicy()
        removeAnswersOfOtherRules(now: now)
        isStoreLoaded = true
        addressSets.refill()
        beginKeeping()
        return policy?.kept ?? []
    }

    /// Kept names are asked for from now on.
    func beginKeeping() {
        guard !isStoreRead, let policy else { return }
        isStoreRead = true
        outbox.put(.event(.policyChanged(policy)))
    }

    /// Removes cached provider answers of names that a rule or a switch sends to the system resolver, answers of an
    /// address family that a rule limits, and answers of names that a rule, a local zone or a lease answers.
    private func removeAnswersAgainstPolicy() {
        guard let policy else { return }
        _ = cache.remove { name, type, sourceClass in
            sourceClass == .provider && (policy.upstreams(for: name) == .system || switches.isOff(name))
                || policy.limits(type, of: name) || policy.isAnsweredHere(name) || leases.has(name)
        }
    }

    private var acceptance: AcceptanceNote? {
        policy.flatMap { AcceptanceNote($0, upstreams.nameservers.all) }
    }

    /// Removes stored answers of names with an expectation or a nameserver, now or when the answers were accepted, if
    /// the rules differ.
    private func removeAnswersOfOtherRules(now: Instant) {
        let acceptance = acceptance
        guard !AcceptanceNote.accepts(acceptance, answersOf: acceptanceOfStore) else { return }
        let names = Set((acceptance?.names ?? []) + (acceptanceOfStore?.names ?? []))
        _ = cache.remove { name, _, _ in name.isWithin(anyOf: names) }
        for name in names.sorted() {
            store?.forget(QuestionScope(name, includesDescendants: true), now: now)
        }
        noteAcceptance(now: now)
    }

    private func noteAcceptance(now: Instant) {
        store?.note(AcceptanceNote.name, acceptance?.text, now: now)
    }
}
