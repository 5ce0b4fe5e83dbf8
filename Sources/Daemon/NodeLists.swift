// Keeps the lists of service nodes of the providers that have one: asks for them when their plan says so, puts them in
// the place of the settings' addresses, and lets the store keep them.

import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver
import Settings

final class NodeLists {
    private let resolving: ResolvingLoop
    private var plans: [ProviderID: NodeListPlan] = [:]
    /// What the store has kept; nil until it has said so, empty without one.
    private var notes: [String: String]?
    /// Turns with each request, so that a list of dead nodes does not keep us from the addresses of the settings.
    private var attempts = 0

    /// The vendor wants to be left alone for so long, where it says so without a time.
    private static let pauseWhenDisabled: Duration = .seconds(3600)
    private static let defaultRegion = "global"

    init(_ resolving: ResolvingLoop) {
        self.resolving = resolving
    }

    var nextDeadline: Instant? { plans.values.compactMap(\.askAt).min() }

    /// The providers are new, or the store has told what it keeps.
    func begin(_ kept: [String: String]? = nil, now: Instant) {
        notes = kept ?? notes ?? (resolving.store == nil ? [:] : nil)
        guard let notes else { return }
        let following = resolving.providers.providers.filter { $0.followsNodeList }
        plans = plans.filter { plan in following.contains { $0.id == plan.key } }
        for provider in following where plans[provider.id] == nil {
            let known = notes[NodeLists.note(provider)].flatMap(KeptList.init)
            if let known { use(known.list, for: provider, now: now) }
            plans[provider.id] = NodeListPlan(age: known?.age(wallMilliseconds: Clock.wallMilliseconds()), now: now)
        }
    }

    func timePassed(now: Instant) {
        for failure in resolving.providers.takeAddressFailures() {
            plans[failure.provider]?.nodeFailed(isWrongNode: failure.isWrongNode, now: now)
        }
        for (id, plan) in plans where plan.askAt.map({ $0 <= now }) ?? false {
            guard let provider = resolving.providers.provider(id) else { continue }
            ask(provider, now: now)
        }
    }

    private func ask(_ provider: Provider, now: Instant) {
        plans[provider.id]?.asked(now: now)
        attempts += 1
        let candidates = attempts.isMultiple(of: 2) ? provider.configuredEndpoints : provider.endpoints
        let request = ServiceNodes.request(
            url: provider.settings.url.path, account: provider.settings.account ?? "",
            region: provider.settings.region ?? NodeLists.defaultRegion)
        let id = provider.id
        let endpoint = candidates[attempts / 2 % candidates.count]
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
        let kept = KeptList(wallMilliseconds: Clock.wallMilliseconds(), list: list)
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
}

/// As the store has it: "MILLISECONDS LIST", wall time since 1970.
private struct KeptList {
    let wallMilliseconds: Int64
    let list: ServiceNodes

    var text: String { "\(wallMilliseconds) \(list.text)" }

    init(wallMilliseconds: Int64, list: ServiceNodes) {
        self.wallMilliseconds = wallMilliseconds
        self.list = list
    }

    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let time = Int64(parts[0]), let list = ServiceNodes(text: String(parts[1])) else {
            return nil
        }
        self.init(wallMilliseconds: time, list: list)
    }

    /// Nil when the clocks contradict each other: then nobody knows.
    func age(wallMilliseconds now: Int64) -> Duration? {
        now < wallMilliseconds ? nil : .milliseconds(now - wallMilliseconds)
    }
}
