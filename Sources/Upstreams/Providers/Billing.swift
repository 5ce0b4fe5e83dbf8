// Keeps the counts of billed questions per provider: in the store across restarts, against the quotas of the settings,
// and for statistics.

package import Control
package import DNSWire
package import LinuxIO
import Resolver
import Settings

package final class Billing: TimedPart {
    package let timer = PartTimer()
    private let fetches: ProviderFetches
    private let fleet: FleetLink
    private let outbox: any UpstreamOutbox
    /// The counts by the provider's name, which outlives its settings.
    private var questions: [String: BilledQuestions] = [:]
    /// The quota level of each provider that was last logged and given to the resolver.
    private var levels: [String: BilledQuestions.QuotaLevel] = [:]
    /// Providers whose counts changed since they were stored.
    private var unsaved: Set<String> = []
    private var isRestored: Bool
    /// When counts are stored and periods are compared with the clock.
    package private(set) var nextDeadline: Instant? { didSet { timer.changed() } }

    /// Interval of storing: a crash loses the counts of this time at most. The clock may be set meanwhile, too.
    private static let interval: Duration = .seconds(60)

    /// - Parameter hasStore: the counts of a former process may be in the store, which is read later.
    init(_ fetches: ProviderFetches, _ fleet: FleetLink, _ outbox: any UpstreamOutbox, hasStore: Bool) {
        (self.fetches, self.fleet, self.outbox) = (fetches, fleet, outbox)
        isRestored = !hasStore
    }

    /// Returns the provider's counts; nil for a provider whose questions are not billed.
    func questions(of provider: Provider) -> BilledQuestions? {
        guard provider.settings.isBilled else { return nil }
        let now = Clock.wallMilliseconds()
        var questions = questions[provider.name] ?? BilledQuestions(unixMilliseconds: now)
        questions.turn(to: now)
        return questions
    }

    /// The quotas of which 80 % or more is used.
    package var warnings: [QuotaWarning] {
        fetches.providers.compactMap { provider in
            questions(of: provider).flatMap { warning(provider, $0) }
        }
    }

    /// Adds the counts of the store. Notes of providers that are no longer configured are removed after their month.
    package func restore(_ notes: [String: String], now: Instant) {
        isRestored = true
        let wall = Clock.wallMilliseconds()
        let configured = Set(fetches.providers.map(\.name))
        for (name, text) in notes where name.hasPrefix(Billing.notePrefix) {
            guard let kept = BilledQuestions(text: text) else { continue }
            let provider = String(name.dropFirst(Billing.notePrefix.count))
            questions[provider, default: BilledQuestions(unixMilliseconds: wall)]
                .add(kept, unixMilliseconds: wall)
            if !configured.contains(provider), questions[provider]?.total(.month) == 0 {
                outbox.report(.note(name: name, text: nil))
            }
        }
        compareWithQuotas(now: now)
    }

    /// Applies the quotas of new settings.
    package func providersChanged(now: Instant) {
        compareWithQuotas(resolverKnows: false, now: now)
    }

    package func timePassed(now: Instant) {
        guard let nextDeadline, nextDeadline <= now else { return }
        save()
        self.nextDeadline = nil
        compareWithQuotas(now: now)
    }

    /// Questions may have reached the account of the provider.
    ///
    /// - Parameter causes: one for each question.
    func billed(_ provider: String, _ causes: [RequestCause], now: Instant) {
        let wall = Clock.wallMilliseconds()
        for cause in causes {
            questions[provider, default: BilledQuestions(unixMilliseconds: wall)].add(1, cause, unixMilliseconds: wall)
        }
        unsaved.insert(provider)
        let billed = fetches.providers.first { $0.name == provider }
        if let account = billed.flatMap({ account(of: $0) }) {
            fleet.bill(account, causes.count, own: own(account))
        }
        outbox.report(.billedSums)
    }

    /// Questions were billed, or Redis has told the sums of all members.
    package func sumsChanged(now: Instant) { compareWithQuotas(now: now) }

    /// The questions of this machine in the account's present period, by all providers that use it.
    private func own(_ account: String) -> Int {
        fetches.providers.reduce(0) { sum, provider in
            guard self.account(of: provider) == account, let quota = provider.settings.quota else { return sum }
            return sum + (questions(of: provider)?.total(quota.period) ?? 0)
        }
    }

    /// Counts the questions of the provider's account anew in all members of a fleet, from the counts of each member,
    /// which corrects a wrong sum.
    package func recount(_ provider: Provider, now: Instant) {
        guard let account = account(of: provider) else { return }
        fleet.bill(account, 0, own: own(account))
        fleet.recount(account, now: now)
        compareWithQuotas(now: now)
    }

    /// The provider's account in the present period, whose questions a fleet counts together; nil without a quota. The
    /// period is that of Redis's clock, so that it is the same for all members.
    private func account(of provider: Provider) -> String? {
        provider.settings.quota.map { quota in
            let time = fleet.wallMilliseconds(at: Clock.now()) ?? Clock.wallMilliseconds()
            return "\(provider.accountIdentity), \(quota.period) until \(quota.period.end(after: time))"
        }
    }

    /// The questions that count for the quota: of all members of a fleet, as far as they are known.
    private func used(_ quota: QuestionQuota, of provider: Provider, _ questions: BilledQuestions) -> Int {
        max(questions.total(quota.period), fleetTotal(of: provider) ?? 0)
    }

    /// Returns the used share of the quota, 1 for all of it; nil without a quota, and before the first question.
    func quotaShare(of provider: Provider) -> Double? {
        guard let quota = provider.settings.quota, let questions = questions(of: provider) else { return nil }
        return Double(used(quota, of: provider, questions)) / Double(quota.questions)
    }

    /// The questions of all members of a fleet in the present period of the quota; nil without either, and before Redis
    /// has told them.
    func fleetTotal(of provider: Provider) -> Int? {
        account(of: provider).flatMap { fleet.billed($0) }
    }

    /// Stores the counts that changed, unless the store's counts were not restored yet.
    package func save() {
        guard isRestored else { return }
        for provider in unsaved.sorted() {
            outbox.report(.note(name: Billing.notePrefix + provider, text: questions[provider]?.text))
        }
        unsaved = []
    }

    private static let notePrefix = "billed by "

    /// - Parameter resolverKnows: false after a change of the settings: the resolver has no levels yet.
    private func compareWithQuotas(resolverKnows: Bool = true, now: Instant) {
        for provider in fetches.providers {
            let questions = questions(of: provider)
            let known = levels[provider.name] ?? .free
            var (level, end) = (BilledQuestions.QuotaLevel.free, Instant?.none)
            if let questions, let quota = provider.settings.quota {
                level = questions.level(of: quota, used: used(quota, of: provider, questions))
                if let account = account(of: provider) { fleet.bill(account, 0, own: own(account)) }
                let wall = Clock.wallMilliseconds()
                let left = quota.period.end(after: wall) - wall
                if level == .usedUp { end = now + .milliseconds(max(0, left)) }
                if level > known, let warning = warning(provider, questions) { outbox.report(.quota(warning)) }
            }
            levels[provider.name] = level
            // A used-up quota is reported each time: the clock may have been set.
            guard !resolverKnows || level != known || level == .usedUp else { continue }
            outbox.report(.event(.overQuota(provider.id, until: end)))
        }
        let isOpen = !unsaved.isEmpty || levels.values.contains { $0 > .free }
        nextDeadline = isOpen ? nextDeadline ?? now + Billing.interval : nil
    }

    private func warning(_ provider: Provider, _ questions: BilledQuestions) -> QuotaWarning? {
        guard let quota = provider.settings.quota, let text = provider.settings.quota?.description,
            case let used = used(quota, of: provider, questions),
            case let level = questions.level(of: quota, used: used), level > .free
        else { return nil }
        return QuotaWarning(provider: provider.name, questions: used, quota: text, isUsedUp: level == .usedUp)
    }
}
