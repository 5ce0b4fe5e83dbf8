// Maintains providers' lists of service nodes: requests them by their plan, uses them in place of the configured
// addresses, and persists them in the store.

import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver
import Settings

final class NodeLists: LoopPart {
    private let resolving: ResolvingLoop
    private var plans: [ProviderID: NodeListPlan] = [:]
    /// Notes from the store; nil until the store is loaded, empty without a store.
    private var notes: [String: String]?
    /// Number of list requests per provider. Every second request uses the configured addresses, so that a list of
    /// unreachable nodes can't prevent its own replacement.
    private var attempts: [ProviderID: Int] = [:]

    /// True while all providers are disabled by `direct-only`: no list is requested.
    var isPaused = false

    /// Pause after the vendor's list says that the service is disabled, as it names no duration.
    private static let pauseWhenDisabled: Duration = .seconds(3600)
    private static let defaultRegion = "global"

    init(_ resolving: ResolvingLoop) {
        self.resolving = resolving
        notes = resolving.store == nil ? [:] : nil
    }

    var nextDeadline: Instant? { isPaused ? nil : plans.values.compactMap(\.askAt).min() }

    /// Starts or updates the plans, after the providers have changed or the store is loaded.
    func begin(_ kept: [String: String]? = nil, now: Instant) {
        notes = kept ?? notes
        guard let notes else { return }
        let following = resolving.providers.providers.filter { $0.followsNodeList }
        plans = plans.filter { plan in following.contains { $0.id == plan.key } }
        attempts = attempts.filter { plans[$0.key] != nil }
        for provider in following where plans[provider.id] == nil {
            let known = notes[NodeLists.note(provider)].flatMap { KeptList($0, scope: NodeLists.scope(provider)) }
            if let known { use(known.list, for: provider, now: now) }
            plans[provider.id] = NodeListPlan(age: known?.age(wallMilliseconds: Clock.wallMilliseconds()), now: now)
        }
    }

    func timePassed(now: Instant) {
        for failure in resolving.providers.takeAddressFailures() {
            plans[failure.provider]?.nodeFailed(isWrongNode: failure.isWrongNode, now: now)
        }
        guard !isPaused else { return }
        for (id, plan) in plans where plan.askAt.map({ $0 <= now }) ?? false {
            guard let provider = resolving.providers.provider(id) else { continue }
            ask(provider, now: now)
        }
    }

    private func ask(_ provider: Provider, now: Instant) {
        plans[provider.id]?.asked(now: now)
        let attempt = attempts[provider.id, default: 0] + 1
        attempts[provider.id] = attempt
        let candidates = attempt.isMultiple(of: 2) ? provider.configuredEndpoints : provider.endpoints
        let request = ServiceNodes.request(
            url: provider.settings.url.path, account: provider.settings.account ?? "",
            region: NodeLists.region(provider))
        let id = provider.id
        let endpoint = candidates[attempt / 2 % candidates.count]
        resolving.providers.carry(request, to: endpoint, now: now) { [weak self] result in
            self?.finished(id, result)
        }
    }

    private func finished(_ id: ProviderID, _ result: Result<TransferReply, TransferFailure>) {
        let now = Clock.now()
        guard let provider = resolving.providers.provider(id), case .success(let transfer) = result,
            let list = try? ServiceNodes(reply: HTTPReply(transfer), allowsPrivate: provider.isInPrivateNetwork)
        else {
            plans[id]?.failed(now: now)
            return
        }
        plans[id]?.answered(now: now)
        use(list, for: provider, now: now)
        let kept = KeptList(
            wallMilliseconds: Clock.wallMilliseconds(), scope: NodeLists.scope(provider), list: list)
        notes?[NodeLists.note(provider)] = kept.text
        resolving.store?.note(NodeLists.note(provider), kept.text, now: now)
    }

    private func use(_ list: ServiceNodes, for provider: Provider, now: Instant) {
        if list.isDisabled {
            resolving.handle(.throttled(provider.id, for: NodeLists.pauseWhenDisabled), now: now)
        } else {
            resolving.providers.setNodes(list, of: provider.id)
        }
    }

    private static func note(_ provider: Provider) -> String { "nodes of \(provider.name)" }

    private static func region(_ provider: Provider) -> String { provider.settings.region ?? defaultRegion }

    /// Account and region of the list: new settings may give the provider's name to others.
    private static func scope(_ provider: Provider) -> String {
        "\(provider.settings.account ?? "")/\(region(provider))"
    }
}

/// The stored form: "MILLISECONDS SCOPE LIST", wall time since 1970.
private struct KeptList {
    let wallMilliseconds: Int64
    let scope: String
    let list: ServiceNodes

    var text: String { "\(wallMilliseconds) \(scope) \(list.text)" }

    init(wallMilliseconds: Int64, scope: String, list: ServiceNodes) {
        self.wallMilliseconds = wallMilliseconds
        self.scope = scope
        self.list = list
    }

    /// Nil for text of another form, and for the list of another account or region.
    init?(_ text: String, scope: String) {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let time = Int64(parts[0]), parts[1] == scope,
            let list = ServiceNodes(text: String(parts[2]))
        else { return nil }
        self.init(wallMilliseconds: time, scope: scope, list: list)
    }

    /// The age of the list; nil if it was stored in the future, as the wall clock was set back.
    func age(wallMilliseconds now: Int64) -> Duration? {
        now < wallMilliseconds ? nil : .milliseconds(now - wallMilliseconds)
    }
}
