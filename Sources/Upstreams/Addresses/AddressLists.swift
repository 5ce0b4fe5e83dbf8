// Providers' addresses that are not in the settings: service nodes that vendors list, and addresses of host names.
// Requests these lists by their plans, gives them to the providers, and keeps them in the store.

package import DNSWire
import HTTPClient
import HTTPDNS
package import LinuxIO
import Resolver
import Settings

package final class AddressLists: TimedPart {
    package let timer = PartTimer()

    /// Where a list comes from.
    private enum Key: Hashable {
        case vendor(ProviderID)
        /// The addresses of a host name, shared by all providers with this host name.
        case hostName(String)

        var source: AddressListPlan.Source {
            switch self {
            case .vendor: .vendor
            case .hostName: .hostName
            }
        }

        /// The order of the keys: providers in the order of the settings, then names.
        var place: (Int, String) {
            switch self {
            case .vendor(let id): (id.number, "")
            case .hostName(let name): (.max, name)
            }
        }

        /// The beginnings of the names of notes.
        static let ofVendor = "nodes of "
        static let ofHostName = "addresses of "

        static func isNote(_ name: String) -> Bool { name.hasPrefix(ofVendor) || name.hasPrefix(ofHostName) }
    }

    private struct Tracked {
        var plan: AddressListPlan
        var list: ServiceAddresses?
        /// Number of requests, without repeated ones. Every second request goes to an address that is not from the
        /// list: a list of unreachable nodes can't prevent its own replacement.
        var attempts = 0
        var request: Request?
    }

    private enum Request {
        case transfer(TransferID)
        case lookup(HostQuestion)
    }

    private let fetches: ProviderFetches
    private let system: SystemFetches
    private let nameservers: NamedServers
    private let outbox: any UpstreamOutbox
    private var tracked: [Key: Tracked] = [:] { didSet { timer.changed() } }
    /// The stored lists by the names of their notes; nil until the store is loaded, empty without a store.
    package private(set) var notes: [String: String]?
    /// Host names whose failure is already logged.
    private var reported: Set<String> = []

    /// True while all providers are disabled by `direct-only`: no list is requested.
    package var isPaused = false {
        didSet {
            timer.changed()
            if isPaused { for key in trackedKeys { cancel(key, now: Clock.now()) } }
        }
    }

    /// Pause after the vendor's list says that the service is disabled, for the list names no duration. At its end the
    /// list is requested again.
    private static let pauseWhenDisabled: Duration = .seconds(3600)

    /// - Parameter hasStore: the lists of a former process may be in the store, which is read later.
    init(
        _ fetches: ProviderFetches, _ system: SystemFetches, _ nameservers: NamedServers,
        _ outbox: any UpstreamOutbox, hasStore: Bool
    ) {
        (self.fetches, self.system, self.nameservers, self.outbox) = (fetches, system, nameservers, outbox)
        notes = hasStore ? nil : [:]
    }

    private var providers: [Provider] { fetches.providers }

    package var nextDeadline: Instant? {
        guard !isPaused else { return nil }
        return tracked.values.compactMap(\.plan.askAt).min()
    }

    /// Starts or updates the plans, after the providers have changed or the store is loaded.
    package func begin(_ kept: [String: String]? = nil, now: Instant) {
        notes = kept.map { $0.filter { Key.isNote($0.key) } } ?? notes
        guard let notes else { return }
        let vendors = providers.filter { $0.account.nodeListing != nil }.map { Key.vendor($0.id) }
        for key in vendors { track(key, notes, now: now) }
        // Lists of vendors may have names.
        let keys = Set(vendors + hostNames.map { .hostName($0) })
        for key in keys { track(key, notes, now: now) }
        for key in tracked.keys where !keys.contains(key) {
            cancel(key, now: now)
            tracked[key] = nil
        }
        forgetUntracked(now: now)
        useLists(now: now)
    }

    private var hostNames: [String] {
        providers.compactMap(\.hostName) + providers.flatMap { tracked[.vendor($0.id)]?.list?.names ?? [] }
    }

    private func track(_ key: Key, _ notes: [String: String], now: Instant) {
        guard tracked[key] == nil else { return }
        let kept = notes[note(of: key)].flatMap { KeptList($0, scope: scope(of: key)) }
        let left = kept?.left(wallMilliseconds: Clock.wallMilliseconds())
        tracked[key] = Tracked(plan: AddressListPlan(key.source, left: left, now: now), list: kept?.list)
        if let left { pauseIfDisabled(key, for: left, now: now) }
    }

    /// The keys in the order in which their requests begin.
    private var trackedKeys: [Key] { tracked.keys.sorted { $0.place < $1.place } }

    // MARK: events

    /// Requests all lists again: they may differ in another network.
    package func networkChanged(now: Instant) {
        for key in trackedKeys {
            cancel(key, now: now)
            tracked[key]?.plan.networkChanged(now: now)
        }
    }

    /// Looks up the host names again: other nameservers may know other addresses.
    package func nameserversChanged(now: Instant) {
        for key in trackedKeys where key.source == .hostName {
            cancel(key, now: now)
            tracked[key]?.plan.networkChanged(now: now)
        }
    }

    package func timePassed(now: Instant) {
        guard !isPaused else { return }
        for key in trackedKeys where tracked[key]?.plan.askAt.map({ $0 <= now }) ?? false {
            switch key {
            case .vendor(let id): askVendor(id, now: now)
            case .hostName(let name): askForName(name, now: now)
            }
        }
    }

    /// An address of the provider was unreachable, or led to the wrong node.
    func addressFailed(_ id: ProviderID, isWrongNode: Bool, now: Instant) {
        guard let provider = fetches.provider(id) else { return }
        for key in keys(of: provider) {
            tracked[key]?.plan.addressFailed(
                isWrongNode: isWrongNode, isLast: !provider.hasWorkingAddress, now: now)
        }
    }

    /// A list came with an answer. Before the store is loaded, the list of the next answer is taken instead: no list is
    /// tracked before.
    func cameWithAnswer(_ reply: HTTPReply, of provider: ProviderID, now: Instant) {
        guard notes != nil else {
            fetches.provider(provider)?.wantsNodes = true
            return
        }
        if replied(.vendor(provider), reply, now: now) != nil { tracked[.vendor(provider)]?.plan.failed(now: now) }
    }

    private func keys(of provider: Provider) -> [Key] {
        let names = [provider.hostName].compactMap { $0 } + (tracked[.vendor(provider.id)]?.list?.names ?? [])
        return [.vendor(provider.id)] + names.map { .hostName($0) }
    }

    // MARK: requests

    private func askVendor(_ id: ProviderID, now: Instant) {
        let key = Key.vendor(id)
        guard let provider = fetches.provider(id), let listing = provider.account.nodeListing
        else {
            return
        }
        if listing.comesWithAnswers {
            tracked[key]?.plan.awaited()
            provider.wantsNodes = true
            return
        }
        let attempt = (tracked[key]?.attempts ?? 0) + 1
        tracked[key]?.attempts = attempt
        let fallback = provider.hostName.map { endpoints(of: $0, for: provider) } ?? provider.configuredEndpoints
        let candidates = attempt.isMultiple(of: 2) && !fallback.isEmpty ? fallback : provider.endpoints
        guard !candidates.isEmpty else {
            tracked[key]?.plan.asked(now: now)
            tracked[key]?.plan.failed(now: now)
            return
        }
        send(key, listing, to: candidates[attempt / 2 % candidates.count], of: provider, now: now)
    }

    /// - Parameter isRedated: the request is repeated, dated by the vendor's clock as a reply showed it.
    private func send(
        _ key: Key, _ listing: any NodeListing, to endpoint: HTTPEndpoint, of provider: Provider,
        isRedated: Bool = false, now: Instant
    ) {
        tracked[key]?.plan.asked(now: now)
        guard let request = try? listing.request(in: fetches.context(of: provider)) else {
            tracked[key]?.plan.failed(now: now)
            return
        }
        let clock = provider.clock
        let transfer = fetches.carry(
            request, to: endpoint, timeout: provider.timeout, now: now
        ) { [weak self] result in
            guard let self else { return }
            let now = Clock.now()
            tracked[key]?.request = nil
            if case .success(let transfer) = result {
                guard let error = replied(key, HTTPReply(transfer), now: now) else { return }
                if error.clockMayBeWrong, !isRedated, provider.clock.differs(from: clock) {
                    return send(key, listing, to: endpoint, of: provider, isRedated: true, now: now)
                }
            }
            tracked[key]?.plan.failed(now: now)
        }
        tracked[key]?.request = .transfer(transfer)
    }

    /// - Returns: why the reply has no list; nil if it has one, or if the provider is gone.
    private func replied(_ key: Key, _ reply: HTTPReply, now: Instant) -> DialectError? {
        guard case .vendor(let id) = key, let provider = fetches.provider(id),
            let listing = provider.account.nodeListing
        else { return nil }
        provider.clock.learn(from: reply, in: provider.dialect, wallMilliseconds: Clock.wallMilliseconds())
        do throws(DialectError) {
            answered(key, try listing.nodes(in: reply, allowsPrivate: provider.isInPrivateNetwork), now: now)
            return nil
        } catch {
            return error
        }
    }

    private func askForName(_ name: String, now: Instant) {
        let key = Key.hostName(name)
        tracked[key]?.plan.asked(now: now)
        guard let owner = Name(name) else {
            tracked[key]?.plan.failed(now: now)
            return
        }
        let others = providers.filter { canResolve(name, $0) }.map(\.id)
        let lookup = HostLookup(
            hasSystem: system.hasReachableServer, providers: others,
            doubtsSystem: tracked[key]?.plan.doubtsSystem ?? false)
        let question = HostQuestion(owner, lookup, fetches, system) { [weak self] in self?.resolved(key, name, $0) }
        tracked[key]?.request = .lookup(question)
        question.proceed(now: now)
    }

    /// Whether a provider may be asked for another one's host name: not if its questions may be billed, and not if it
    /// serves only the names of its account.
    private func canResolve(_ name: String, _ provider: Provider) -> Bool {
        !provider.settings.isBilled && provider.settings.keyFile == nil && !provider.settings.hasOwnNames
            && !provider.isShadow && provider.isReachable && provider.hostName != name
    }

    private func resolved(_ key: Key, _ name: String, _ lookup: HostLookup) {
        let now = Clock.now()
        tracked[key]?.request = nil
        guard !lookup.addresses.isEmpty else {
            tracked[key]?.plan.failed(now: now)
            return reportUnresolved(name)
        }
        let nodes = lookup.addresses.prefix(ServiceAddresses.maxNodes).map { ServiceAddresses.Node($0) }
        answered(key, ServiceAddresses(nodes: nodes, lifetimeSeconds: lookup.ttlSeconds), now: now)
    }

    private func cancel(_ key: Key, now: Instant) {
        switch tracked[key]?.request.take() {
        case .transfer(let id): fetches.cancel(id, now: now)
        case .lookup(let question): question.cancel(now: now)
        case nil: return
        }
        tracked[key]?.plan.failed(now: now)
    }

    // MARK: lists

    private func answered(_ key: Key, _ list: ServiceAddresses, now: Instant) {
        let lifetime =
            list.isDisabled
            ? AddressLists.pauseWhenDisabled : AddressListPlan.lifetime(list.lifetimeSeconds, of: key.source)
        let wasDisabled = tracked[key]?.list?.isDisabled == true
        tracked[key]?.plan.answered(for: lifetime, now: now)
        tracked[key]?.list = list
        let until = Clock.wallMilliseconds() + Int64(lifetime.wholeMilliseconds)
        let kept = KeptList(untilMilliseconds: until, scope: scope(of: key), list: list)
        notes?[note(of: key)] = kept.text
        outbox.report(.note(name: note(of: key), text: kept.text))
        pauseIfDisabled(key, for: lifetime, now: now)
        if wasDisabled, !list.isDisabled, case .vendor(let id) = key {
            outbox.report(.event(.providerReset(id)))
        }
        // A new list may have other names.
        begin(now: now)
    }

    private func pauseIfDisabled(_ key: Key, for lifetime: Duration, now: Instant) {
        guard case .vendor(let id) = key, tracked[key]?.list?.isDisabled == true, lifetime > .zero else { return }
        outbox.report(.event(.throttled(id, for: lifetime)))
    }

    private func useLists(now: Instant) {
        var revived: [ProviderID] = []
        var hasChanged = false
        for provider in providers {
            let nodes = tracked[.vendor(provider.id)]?.list.map { endpoints(of: $0, for: provider) } ?? []
            let own = provider.hostName.map { endpoints(of: $0, for: provider) } ?? provider.configuredEndpoints
            let (wasKnown, worked) = (!provider.endpoints.isEmpty, provider.hasWorkingAddress)
            guard provider.setEndpoints(nodes.isEmpty ? own : nodes, fallback: own) else { continue }
            hasChanged = true
            if !wasKnown, let name = provider.hostName {
                outbox.report(
                    .providerResolved(name: provider.name, host: name, provider.endpoints.map(\.address)))
                reported.remove(name)
                // Until now the provider had no address to send a request to.
                tracked[.vendor(provider.id)]?.plan.networkChanged(now: now)
            } else if !worked, provider.hasWorkingAddress {
                revived.append(provider.id)
            }
        }
        guard hasChanged else { return }
        outbox.report(.event(.network(.unreachable(fetches.unreachable.union(nameservers.unreachable)))))
        // The failures were failures of the former addresses.
        for provider in revived { outbox.report(.event(.providerReset(provider))) }
    }

    private func endpoints(of list: ServiceAddresses, for provider: Provider) -> [HTTPEndpoint] {
        guard !list.isDisabled else { return [] }
        return list.nodes.flatMap { node in
            switch node.host {
            case .address(let address):
                let host = provider.account.nodesHaveOwnCertificates ? address.description : nil
                return [provider.account.endpoint(address, port: node.port, host: host)].compactMap { $0 }
            case .name(let name): return endpoints(of: name, port: node.port, for: provider)
            }
        }
    }

    /// A name of a vendor's list may lead to a machine of this network, as an address in the list may.
    private func endpoints(of name: String, port: UInt16? = nil, for provider: Provider) -> [HTTPEndpoint] {
        let host = provider.hostName == name ? nil : name
        let addresses = tracked[.hostName(name)]?.list?.addresses ?? []
        return addresses.compactMap { address in
            guard host == nil || provider.isInPrivateNetwork || !address.isPrivate else { return nil }
            return provider.account.endpoint(address, port: port, host: host)
        }
    }

    private func reportUnresolved(_ name: String) {
        let waiting = providers.filter { $0.hostName == name && $0.endpoints.isEmpty }
        guard !waiting.isEmpty, reported.insert(name).inserted else { return }
        for provider in waiting { outbox.report(.providerUnresolved(name: provider.name, host: name)) }
    }

    // MARK: notes

    private func note(of key: Key) -> String {
        switch key {
        case .vendor(let id): Key.ofVendor + (fetches.name(of: id) ?? "")
        case .hostName(let name): Key.ofHostName + name
        }
    }

    /// Removes the notes of former providers, and of names that left a vendor's list: they would displace others in the
    /// store.
    private func forgetUntracked(now: Instant) {
        let names = Set(tracked.keys.map(note))
        for name in (notes ?? [:]).keys.sorted() where !names.contains(name) {
            notes?[name] = nil
            outbox.report(.note(name: name, text: nil))
        }
    }

    /// Returns the account and service that the list belongs to: new settings may give the provider's name to another
    /// account or service. Leaves out the URL's path, which may hold a token.
    private func scope(of key: Key) -> String {
        guard case .vendor(let id) = key, let provider = fetches.provider(id) else { return "-" }
        let settings = provider.settings
        let url = settings.url
        let service = "\(url.isSecure ? "https" : "http")://\(url.host):\(url.port)"
        let network = provider.isInPrivateNetwork ? "private" : "public"
        return "\(settings.dialect.rawValue)/\(settings.account ?? "")/\(settings.region ?? "")/\(service)/\(network)"
    }
}

/// The stored form: "MILLISECONDS SCOPE LIST", the end of the list's lifetime as wall time since 1970.
private struct KeptList {
    let untilMilliseconds: Int64
    let scope: String
    let list: ServiceAddresses

    var text: String { "\(untilMilliseconds) \(scope) \(list.text)" }

    init(untilMilliseconds: Int64, scope: String, list: ServiceAddresses) {
        self.untilMilliseconds = untilMilliseconds
        self.scope = scope
        self.list = list
    }

    /// Returns nil for text of another form, and for the list of another account or region.
    init?(_ text: String, scope: String) {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let time = Int64(parts[0]), parts[1] == scope,
            let list = ServiceAddresses(text: String(parts[2]))
        else { return nil }
        self.init(untilMilliseconds: time, scope: scope, list: list)
    }

    /// The rest of the lifetime; zero after its end, or if it is longer than any, as the wall clock was set back.
    func left(wallMilliseconds now: Int64) -> Duration {
        let left = untilMilliseconds.subtractingReportingOverflow(now)
        return left.overflow || left.partialValue > KeptList.longestMilliseconds
            ? .zero : .milliseconds(max(0, left.partialValue))
    }

    private static let longestMilliseconds: Int64 = 24 * 3600 * 1000
}
