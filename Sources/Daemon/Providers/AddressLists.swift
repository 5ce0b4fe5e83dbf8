// Maintains the lists of addresses that providers have beside those of the settings: their vendors' service nodes, and
// the addresses of their host names. Requests the lists by their plans, uses them, and persists them in the store.

import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver
import Settings

final class AddressLists: LoopPart {
    /// Where a list comes from.
    private enum Key: Hashable {
        case vendor(ProviderID)
        /// Shared by all providers with this name.
        case hostName(String)

        var source: AddressListPlan.Source {
            switch self {
            case .vendor: .vendor
            case .hostName: .hostName
            }
        }
    }

    private struct Followed {
        var plan: AddressListPlan
        var list: ServiceNodes?
        /// Number of requests. Every second request to a vendor goes to the addresses that are not from its list, so
        /// that a list of unreachable nodes can't prevent its own replacement.
        var attempts = 0
        var request: Request?
    }

    private enum Request {
        case transfer(TransferID)
        case lookup(HostQuestion)
    }

    private let resolving: ResolvingLoop
    private var followed: [Key: Followed] = [:]
    /// Notes from the store; nil until the store is loaded, empty without a store.
    private var notes: [String: String]?
    private var news: [LogEvent] = []
    /// Host names without an address for which that is in the log.
    private var reported: Set<String> = []

    /// True while all providers are disabled by `direct-only`: no list is requested.
    var isPaused = false {
        didSet { if isPaused { for key in Array(followed.keys) { cancel(key, now: Clock.now()) } } }
    }

    /// Pause after the vendor's list says that the service is disabled, as it names no duration.
    private static let pauseWhenDisabled: Duration = .seconds(3600)

    init(_ resolving: ResolvingLoop) {
        self.resolving = resolving
        notes = resolving.store == nil ? [:] : nil
    }

    private var providers: [Provider] { resolving.providers.providers }

    var nextDeadline: Instant? {
        guard !isPaused else { return nil }
        return followed.compactMap { isRequested($0.key) ? $0.value.plan.askAt : nil }.min()
    }

    /// Starts or updates the plans, after the providers have changed or the store is loaded.
    func begin(_ kept: [String: String]? = nil, now: Instant) {
        notes = kept ?? notes
        guard let notes else { return }
        let vendors = providers.filter { $0.account.nodeListing != nil }.map { Key.vendor($0.id) }
        for key in vendors { follow(key, notes, now: now) }
        // Lists of vendors may have names.
        let keys = Set(vendors + hostNames.map { .hostName($0) })
        for key in keys { follow(key, notes, now: now) }
        for key in followed.keys where !keys.contains(key) {
            cancel(key, now: now)
            followed[key] = nil
        }
        useLists(now: now)
    }

    private var hostNames: [String] {
        providers.compactMap(\.hostName) + providers.flatMap { followed[.vendor($0.id)]?.list?.names ?? [] }
    }

    private func follow(_ key: Key, _ notes: [String: String], now: Instant) {
        guard followed[key] == nil else { return }
        let kept = notes[note(of: key)].flatMap { KeptList($0, scope: scope(of: key)) }
        let left = kept?.left(wallMilliseconds: Clock.wallMilliseconds())
        followed[key] = Followed(plan: AddressListPlan(key.source, left: left, now: now), list: kept?.list)
        pauseIfDisabled(key, now: now)
    }

    // MARK: events

    /// Requests all lists again: those of another network may be others.
    func networkChanged(now: Instant) {
        for key in Array(followed.keys) {
            cancel(key, now: now)
            followed[key]?.plan.networkChanged(now: now)
        }
    }

    /// Asks for the host names again, as other nameservers may know their addresses.
    func nameserversChanged(now: Instant) {
        for key in Array(followed.keys) where key.source == .hostName {
            cancel(key, now: now)
            followed[key]?.plan.networkChanged(now: now)
        }
    }

    func timePassed(now: Instant) {
        for failure in resolving.providers.takeAddressFailures() { addressFailed(failure, now: now) }
        // Replies wait for the store, as no list is followed before.
        if notes != nil {
            for (provider, reply) in resolving.providers.takeNodeReplies() {
                replied(.vendor(provider), reply, now: now)
            }
        }
        guard !isPaused else { return }
        for (key, list) in followed where list.plan.askAt.map({ $0 <= now }) ?? false {
            switch key {
            case .vendor(let id): askVendor(id, now: now)
            case .hostName(let name): askForName(name, now: now)
            }
        }
    }

    private func addressFailed(_ failure: (provider: ProviderID, isWrongNode: Bool), now: Instant) {
        guard let provider = resolving.providers.provider(failure.provider) else { return }
        for key in keys(of: provider) {
            followed[key]?.plan.addressFailed(
                isWrongNode: failure.isWrongNode, isLast: !provider.hasWorkingAddress, now: now)
        }
    }

    private func keys(of provider: Provider) -> [Key] {
        let names = [provider.hostName].compactMap { $0 } + (followed[.vendor(provider.id)]?.list?.names ?? [])
        return [.vendor(provider.id)] + names.map { .hostName($0) }
    }

    /// Returns events for the log.
    func takeNews() -> [LogEvent] {
        defer { news = [] }
        return news
    }

    // MARK: requests

    /// False for a list that comes with answers.
    private func isRequested(_ key: Key) -> Bool {
        guard case .vendor(let id) = key else { return true }
        return resolving.providers.provider(id)?.account.nodeListing?.comesWithAnswers == false
    }

    private func askVendor(_ id: ProviderID, now: Instant) {
        let key = Key.vendor(id)
        guard let provider = resolving.providers.provider(id), let listing = provider.account.nodeListing else {
            return
        }
        if listing.comesWithAnswers {
            provider.wantsNodes = true
            return
        }
        followed[key]?.plan.asked(now: now)
        let attempt = (followed[key]?.attempts ?? 0) + 1
        followed[key]?.attempts = attempt
        let fallback = provider.hostName.map { endpoints(of: $0, for: provider) } ?? provider.configuredEndpoints
        let candidates = attempt.isMultiple(of: 2) && !fallback.isEmpty ? fallback : provider.endpoints
        let request = try? listing.request(in: resolving.providers.context(of: provider))
        guard let request, !candidates.isEmpty else {
            followed[key]?.plan.failed(now: now)
            return
        }
        let transfer = resolving.providers.carry(
            request, to: candidates[attempt / 2 % candidates.count], now: now
        ) { [weak self] result in
            self?.followed[key]?.request = nil
            switch result {
            case .success(let transfer): self?.replied(key, HTTPReply(transfer), now: Clock.now())
            case .failure: self?.followed[key]?.plan.failed(now: Clock.now())
            }
        }
        followed[key]?.request = .transfer(transfer)
    }

    private func replied(_ key: Key, _ reply: HTTPReply, now: Instant) {
        guard case .vendor(let id) = key, let provider = resolving.providers.provider(id),
            let listing = provider.account.nodeListing
        else { return }
        let isNews = provider.clock.learn(
            from: reply, in: provider.dialect, wallMilliseconds: Clock.wallMilliseconds())
        if let list = try? listing.nodes(in: reply, allowsPrivate: provider.isInPrivateNetwork) {
            return answered(key, list, now: now)
        }
        followed[key]?.plan.failed(now: now)
        // The request was dated by another clock than the vendor's.
        if isNews { askVendor(id, now: now) }
    }

    private func askForName(_ name: String, now: Instant) {
        let key = Key.hostName(name)
        guard let owner = Name(name) else { return }
        followed[key]?.plan.asked(now: now)
        let others = providers.filter { canResolve(name, $0) }.map(\.id)
        let lookup = HostLookup(
            hasSystem: resolving.system.hasReachableServer, providers: others,
            doubtsSystem: followed[key]?.plan.doubtsSystem ?? false)
        let question = HostQuestion(owner, lookup, resolving) { [weak self] in self?.resolved(key, name, $0) }
        followed[key]?.request = .lookup(question)
        question.proceed(now: now)
    }

    /// Whether a provider may be asked for another one's name. An account may be billed for each question, or serve
    /// its own names only.
    private func canResolve(_ name: String, _ provider: Provider) -> Bool {
        provider.settings.account == nil && provider.settings.keyFile == nil && !provider.settings.hasOwnNames
            && !provider.isShadow && provider.isReachable && provider.hostName != name
    }

    private func resolved(_ key: Key, _ name: String, _ lookup: HostLookup) {
        let now = Clock.now()
        followed[key]?.request = nil
        guard !lookup.addresses.isEmpty else {
            followed[key]?.plan.failed(now: now)
            return reportUnresolved(name)
        }
        let nodes = lookup.addresses.prefix(ServiceNodes.maxNodes).map { ServiceNodes.Node($0) }
        answered(key, ServiceNodes(nodes: nodes, lifetimeSeconds: lookup.ttlSeconds), now: now)
    }

    private func cancel(_ key: Key, now: Instant) {
        switch followed[key]?.request.take() {
        case .transfer(let id): resolving.providers.cancel(id, now: now)
        case .lookup(let question): question.cancel(now: now)
        case nil: return
        }
        followed[key]?.plan.failed(now: now)
    }

    // MARK: lists

    private func answered(_ key: Key, _ list: ServiceNodes, now: Instant) {
        let lifetime = AddressListPlan.lifetime(list.lifetimeSeconds, of: key.source)
        followed[key]?.plan.answered(for: lifetime, now: now)
        followed[key]?.list = list
        let until = Clock.wallMilliseconds() + Int64(lifetime.wholeMilliseconds)
        let kept = KeptList(untilMilliseconds: until, scope: scope(of: key), list: list)
        notes?[note(of: key)] = kept.text
        resolving.store?.note(note(of: key), kept.text, now: now)
        pauseIfDisabled(key, now: now)
        // A new list may have other names.
        begin(now: now)
    }

    private func pauseIfDisabled(_ key: Key, now: Instant) {
        guard case .vendor(let id) = key, followed[key]?.list?.isDisabled == true else { return }
        resolving.handle(.throttled(id, for: AddressLists.pauseWhenDisabled), now: now)
    }

    private func useLists(now: Instant) {
        var revived: [ProviderID] = []
        var hasNews = false
        for provider in providers {
            let nodes = followed[.vendor(provider.id)]?.list.map { endpoints(of: $0, for: provider) } ?? []
            let own = provider.hostName.map { endpoints(of: $0, for: provider) } ?? provider.configuredEndpoints
            let (wasKnown, worked) = (!provider.endpoints.isEmpty, provider.hasWorkingAddress)
            guard provider.setEndpoints(nodes.isEmpty ? own : nodes, fallback: own) else { continue }
            hasNews = true
            if !wasKnown, let name = provider.hostName {
                news.append(.providerResolved(name: provider.name, host: name, provider.endpoints.map(\.address)))
                reported.remove(name)
                // Until now there was nothing to send a request to.
                followed[.vendor(provider.id)]?.plan.networkChanged(now: now)
            } else if !worked, provider.hasWorkingAddress {
                revived.append(provider.id)
            }
        }
        guard hasNews else { return }
        resolving.handle(.network(.unreachable(resolving.providers.unreachable)), now: now)
        // The failures were those of the former addresses.
        for provider in revived { resolving.handle(.providerReset(provider), now: now) }
    }

    private func endpoints(of list: ServiceNodes, for provider: Provider) -> [HTTPEndpoint] {
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

    private func endpoints(of name: String, port: UInt16? = nil, for provider: Provider) -> [HTTPEndpoint] {
        let host = provider.hostName == name ? nil : name
        return followed[.hostName(name)]?.list?.addresses.compactMap {
            provider.account.endpoint($0, port: port, host: host)
        } ?? []
    }

    private func reportUnresolved(_ name: String) {
        let waiting = providers.filter { $0.hostName == name && $0.endpoints.isEmpty }
        guard !waiting.isEmpty, reported.insert(name).inserted else { return }
        news += waiting.map { .providerUnresolved(name: $0.name, host: name) }
    }

    // MARK: notes

    private func note(of key: Key) -> String {
        switch key {
        case .vendor(let id): "nodes of \(resolving.providers.name(of: id) ?? "")"
        case .hostName(let name): "addresses of \(name)"
        }
    }

    /// Account and region of the list: new settings may give the provider's name to others.
    private func scope(of key: Key) -> String {
        guard case .vendor(let id) = key, let settings = resolving.providers.provider(id)?.settings else { return "-" }
        return "\(settings.dialect.rawValue)/\(settings.account ?? "")/\(settings.region ?? "")"
    }
}

/// The stored form: "MILLISECONDS SCOPE LIST", the end of the list's lifetime as wall time since 1970.
private struct KeptList {
    let untilMilliseconds: Int64
    let scope: String
    let list: ServiceNodes

    var text: String { "\(untilMilliseconds) \(scope) \(list.text)" }

    init(untilMilliseconds: Int64, scope: String, list: ServiceNodes) {
        self.untilMilliseconds = untilMilliseconds
        self.scope = scope
        self.list = list
    }

    /// Nil for text of another form, and for the list of another account or region.
    init?(_ text: String, scope: String) {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let time = Int64(parts[0]), parts[1] == scope,
            let list = ServiceNodes(text: String(parts[2]))
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
