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
    /// Requests to each. Every other one goes to the addresses of the settings, so that a list of dead nodes does not
    /// keep us from them.
    private var attempts: [ProviderID: Int] = [:]

    /// No provider is to be asked for anything.
    var isPaused = false

    /// The vendor wants to be left alone for so long, where it says so without a time.
    private static let pauseWhenDisabled: Duration = .seconds(3600)
    private static let defaultRegion = "global"

    init(_ resolving: ResolvingLoop) {
        self.resolving = resolving
        notes = resolving.store == nil ? [:] : nil
    }

    var nextDeadline: Instant? { isPaused ? nil : plans.values.compactMap(\.askAt).min() }

    /// The providers are new, or the store has told what it keeps.
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

    /// Whose list it is: new settings may give the name to another account or region.
    private static func scope(_ provider: Provider) -> String {
        "\(provider.settings.account ?? "")/\(region(provider))"
    }
}

/// As the store has it: "MILLISECONDS SCOPE LIST", wall time since 1970.
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

    /// Nil for what is not of this form, and for another's list.
    init?(_ text: String, scope: String) {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let time = Int64(parts[0]), parts[1] == scope,
            let list = ServiceNodes(text: String(parts[2]))
        else { return nil }
        self.init(wallMilliseconds: time, scope: scope, list: list)
    }

    /// Nil when the clocks contradict each other: then nobody knows.
    func age(wallMilliseconds now: Int64) -> Duration? {
        now < wallMilliseconds ? nil : .milliseconds(now - wallMilliseconds)
    }
}
