// Keeps the counts of billed requests per provider: in the store across restarts, against the quotas of the settings,
// and for statistics.

import Control
import DNSWire
import LinuxIO
import Resolver
import Settings

final class Billing: LoopPart {
    private let resolving: ResolvingLoop
    /// By the provider's name, which outlives its settings.
    private var requests: [String: BilledRequests] = [:]
    /// The level that the log and the resolver know.
    private var levels: [String: BilledRequests.QuotaLevel] = [:]
    /// Providers whose counts changed since they were stored.
    private var unsaved: Set<String> = []
    private var news: [LogEvent] = []
    /// When counts are stored and periods are compared with the clock.
    private(set) var nextDeadline: Instant?

    /// A crash loses the counts of this time at most. The clock may be set meanwhile, too.
    private static let interval: Duration = .seconds(60)

    init(_ resolving: ResolvingLoop) {
        self.resolving = resolving
    }

    /// Nil for a provider whose requests are not billed.
    func requests(of provider: Provider) -> BilledRequests? {
        guard provider.settings.isBilled else { return nil }
        let now = Clock.wallMilliseconds()
        var requests = requests[provider.name] ?? BilledRequests(unixMilliseconds: now)
        requests.turn(to: now)
        return requests
    }

    /// Quotas of which 80 % or all are used.
    var warnings: [QuotaWarning] {
        resolving.providers.providers.compactMap { provider in
            requests(of: provider).flatMap { warning(provider, $0) }
        }
    }

    /// Adds the counts of the store.
    func restore(_ notes: [String: String], now: Instant) {
        let wall = Clock.wallMilliseconds()
        for (name, text) in notes where name.hasPrefix(Billing.notePrefix) {
            guard let kept = BilledRequests(text: text) else { continue }
            let provider = String(name.dropFirst(Billing.notePrefix.count))
            requests[provider, default: BilledRequests(unixMilliseconds: wall)].add(kept)
        }
        compareWithQuotas(now: now)
    }

    /// Applies the quotas of new settings.
    func providersChanged(now: Instant) {
        compareWithQuotas(areNew: true, now: now)
    }

    func timePassed(now: Instant) {
        let billed = resolving.providers.takeBilled()
        let isDue = nextDeadline.map { $0 <= now } ?? false
        guard isDue || !billed.isEmpty else { return }
        let wall = Clock.wallMilliseconds()
        for (provider, cause) in billed {
            requests[provider, default: BilledRequests(unixMilliseconds: wall)].add(1, cause, unixMilliseconds: wall)
            unsaved.insert(provider)
        }
        if isDue {
            save(now: now)
            nextDeadline = nil
        }
        compareWithQuotas(now: now)
    }

    /// Stores the counts that changed.
    func save(now: Instant) {
        for provider in unsaved.sorted() {
            resolving.store?.note(Billing.notePrefix + provider, requests[provider]?.text, now: now)
        }
        unsaved = []
    }

    func takeNews() -> [LogEvent] {
        defer { news = [] }
        return news
    }

    private static let notePrefix = "billed by "

    /// - Parameter areNew: the resolver does not know the quotas.
    private func compareWithQuotas(areNew: Bool = false, now: Instant) {
        for provider in resolving.providers.providers {
            let requests = requests(of: provider)
            let known = levels[provider.name] ?? .free
            var (level, end) = (BilledRequests.QuotaLevel.free, Instant?.none)
            if let requests, let quota = provider.quota {
                level = requests.level(of: quota)
                let left = requests.end(of: quota.period) - Clock.wallMilliseconds()
                if level == .usedUp { end = now + .milliseconds(max(0, left)) }
                if level > known, let warning = warning(provider, requests) { news.append(.quota(warning)) }
            }
            levels[provider.name] = level
            if areNew || level != known { resolving.handle(.overQuota(provider.id, until: end), now: now) }
        }
        let isOpen = !unsaved.isEmpty || levels.values.contains { $0 > .free }
        nextDeadline = isOpen ? nextDeadline ?? now + Billing.interval : nil
    }

    private func warning(_ provider: Provider, _ requests: BilledRequests) -> QuotaWarning? {
        guard let quota = provider.quota, let text = provider.settings.quota?.description,
            case let level = requests.level(of: quota), level > .free
        else { return nil }
        return QuotaWarning(
            provider: provider.name, requests: requests.total(quota.period), quota: text, isUsedUp: level == .usedUp)
    }
}
