// What the counts of the audit prove: a share counts only as far as its confidence interval reaches, and only if
// several registrable domains are affected, so that one unlucky comparison condemns no provider.

package import DNSWire

/// Part of a number of names or requests.
package struct AuditShare: Equatable, Sendable {
    package let count: Int
    package let all: Int

    package init(_ count: Int, of all: Int) {
        (self.count, self.all) = (min(count, all), all)
    }

    /// The share, from 0 to 1; 0 of nothing.
    package var share: Double { all > 0 ? Double(count) / Double(all) : 0 }

    /// The limits of the true share with 95 % confidence (Wilson score interval, 1927).
    package var limits: ClosedRange<Double> {
        guard all > 0 else { return 0...1 }
        let (z, number) = (1.96, Double(all))
        let middle = share + z * z / (2 * number)
        let half = z * (share * (1 - share) / number + z * z / (4 * number * number)).squareRoot()
        let whole = 1 + z * z / number
        return max(0, (middle - half) / whole)...min(1, (middle + half) / whole)
    }
}

/// Something proven against a provider. Cases are in the order of their weight, the worst first.
package enum AuditFinding: Equatable, Sendable {
    /// Gives addresses of other servers.
    case forges(AuditShare)
    /// Says that names do not exist that do.
    case denies(AuditShare)
    /// Gives addresses that lead nowhere while another's work, or TTL 0 while another's TTL is longer.
    case expires(AuditShare)
    case fails(AuditShare)
    /// Replies later than the usual hedge delay.
    case late(AuditShare)
    /// The mean reply takes longer than the median other provider's by this part of it.
    case slower(Double)
    /// The connection to its addresses takes longer than to the others'.
    case farther(Duration)
    /// Another provider without a worse finding costs at most half. The price of the cheapest.
    case dear(cheapest: Double)

    fileprivate var weight: Int {
        switch self {
        case .forges: 7
        case .denies: 6
        case .expires: 5
        case .fails: 4
        case .late, .slower: 3
        case .farther: 2
        case .dear: 1
        }
    }

    fileprivate var extent: Double {
        switch self {
        case .forges(let share), .denies(let share), .expires(let share), .fails(let share), .late(let share):
            share.share
        case .slower(let part): part
        case .farther(let time): time.seconds
        case .dear: 0
        }
    }
}

/// The counts of a day or a week, with what they prove.
package struct AuditWindow: Equatable, Sendable {
    package let counts: AuditCounts
    /// The worst first.
    package fileprivate(set) var findings: [AuditFinding] = []
    /// Registrable domains with forged, denied and expired answers: the latest, at most `Bounds.maxAuditWitnesses`
    /// of each.
    package fileprivate(set) var domains: [AuditCount: [Name]] = [:]

    package func share(_ part: AuditCount, of all: AuditCount) -> AuditShare {
        AuditShare(counts[part], of: counts[all])
    }

    package var failing: AuditShare { AuditShare(counts[.failed], of: counts[.replies] + counts[.failed]) }

    /// Enough names were judged to call a provider honest that nothing is proven against.
    package var isConclusive: Bool { counts[.judged] >= Bounds.auditedNamesForVerdict }

    /// Mean time of a reply, each counted as at most `Bounds.hedgeCeiling`; nil with few replies.
    package var replyTime: Duration? { times.map { .milliseconds($0.mean) } }

    /// Milliseconds.
    fileprivate var times: (mean: Double, varianceOfMean: Double)? {
        let number = Double(counts[.replies])
        guard counts[.replies] >= Bounds.auditedReplies else { return nil }
        let mean = Double(counts[.replyTime]) / number
        let variance = max(0, Double(counts[.replyTimeSquares]) / number - mean * mean)
        return (mean / 10, variance / 100 / number)
    }

    /// Mean connection times of the provider's addresses and of the others'; nil with few names.
    package var distances: (own: Duration, others: Duration)? {
        guard counts[.measured] >= Bounds.auditedDistances else { return nil }
        let mean = { (sum: AuditCount) in
            Duration.milliseconds(Double(counts[sum]) / 10 / Double(counts[.measured]))
        }
        return (mean(.ownDistance), mean(.otherDistance))
    }
}

/// One provider's counts and findings.
package struct AuditResult: Equatable, Sendable {
    package let traits: ProviderTraits
    /// Comparison questions since the start.
    package let comparisons: Int
    package fileprivate(set) var day: AuditWindow
    package fileprivate(set) var week: AuditWindow

    /// The provider of `traits`.
    package var id: ProviderID? { traits.id.provider }

    /// Comparison questions are sent to the provider.
    package var isCompared: Bool { traits.isAudited }
}

extension ProviderAudit {
    /// Returns the providers with what the counts prove, those with the lightest findings of the week first. Equal ones
    /// stay in the order of the settings.
    func report(on providers: [ProviderTraits], now: Instant) -> [AuditResult] {
        var audited = providers.compactMap { traits in
            traits.id.provider.flatMap { history(of: $0) }.map { history in
                AuditResult(
                    traits: traits, comparisons: comparisons(traits.id),
                    day: window(history, AuditHistory.hoursOfDay, now),
                    week: window(history, AuditHistory.hoursOfWeek, now))
            }
        }
        for path in [\AuditResult.day, \.week] { judge(&audited, path) }
        let order = audited.indices.sorted { audited[$0].place(before: audited[$1]) ?? ($0 < $1) }
        return order.map { audited[$0] }
    }

    private func window(_ history: AuditHistory, _ hours: Int, _ now: Instant) -> AuditWindow {
        var window = AuditWindow(counts: history.sum(ofHours: hours, now: now))
        for count in [AuditCount.forged, .denied, .expired] {
            window.domains[count] = history.domains(count, ofHours: hours, now: now)
        }
        return window
    }

    private func judge(_ audited: inout [AuditResult], _ path: WritableKeyPath<AuditResult, AuditWindow>) {
        let windows = audited.map { $0[keyPath: path] }
        for index in audited.indices {
            let others = windows.indices.filter { $0 != index && !audited[$0].traits.isShadow }.map { windows[$0] }
            audited[index][keyPath: path].findings = windows[index].findings(beside: others)
        }
        let isSound = { (provider: AuditResult) in
            provider[keyPath: path].findings.allSatisfy { $0.weight < AuditFinding.fails(AuditShare(0, of: 0)).weight }
        }
        for index in audited.indices {
            guard let price = audited[index].traits.price, price > 0 else { continue }
            let cheapest = audited.indices.filter { $0 != index && isSound(audited[$0]) }
                .map { audited[$0].traits.price ?? 0 }.min()
            guard let cheapest, cheapest <= price / 2 else { continue }
            audited[index][keyPath: path].findings.append(.dear(cheapest: cheapest))
        }
    }
}

extension AuditResult {
    /// Whether the provider is better than the other one; nil: it is as good.
    fileprivate func place(before other: AuditResult) -> Bool? {
        let worst = { (provider: AuditResult) in
            provider.week.findings.first.map { ($0.weight, $0.extent) } ?? (0, 0)
        }
        let (own, others) = (worst(self), worst(other))
        return own == others ? nil : own < others
    }
}

extension AuditWindow {
    /// Returns what is proven, except for the price.
    fileprivate func findings(beside others: [AuditWindow]) -> [AuditFinding] {
        var found: [AuditFinding] = []
        let forged = share(.forged, of: .judged)
        if isProven(forged, .forged, from: Bounds.forgedShare) { found.append(.forges(forged)) }
        let denied = share(.denied, of: .compared)
        if isProven(denied, .denied, from: Bounds.deniedShare) { found.append(.denies(denied)) }
        let expired = share(.expired, of: .aged)
        if isProven(expired, .expired, from: Bounds.expiredShare) { found.append(.expires(expired)) }
        if isProven(failing, beside: others.map(\.failing), from: Bounds.failingShare) { found.append(.fails(failing)) }
        if let slower = slower(than: others) {
            found.append(.slower(slower))
        } else if case let late = share(.late, of: .replies),
            isProven(late, beside: others.map { $0.share(.late, of: .replies) }, from: Bounds.lateShare)
        {
            found.append(.late(late))
        }
        // A single slow connection makes a mean large.
        if let (own, others) = distances, AddressDistance(own: own, others: others).isFarther,
            share(.farther, of: .measured).limits.lowerBound >= Bounds.fartherShare
        {
            found.append(.farther(own - others))
        }
        return found
    }

    private func isProven(_ share: AuditShare, _ count: AuditCount, from lowest: Double) -> Bool {
        share.limits.lowerBound >= lowest && domains[count, default: []].count >= Bounds.auditedDomains
    }

    /// A fault of the path or of this machine affects the other providers, too.
    private func isProven(_ share: AuditShare, beside others: [AuditShare], from lowest: Double) -> Bool {
        let usual = others.filter { $0.all > 0 }.map(\.share).sorted()
        guard !usual.isEmpty else { return false }
        return share.limits.lowerBound >= max(lowest, 2 * usual[(usual.count - 1) / 2])
    }

    /// Returns by which part of it the mean reply takes longer than that of the median other provider; nil if it does
    /// not, or if chance may be the cause: the difference is below three standard errors.
    private func slower(than others: [AuditWindow]) -> Double? {
        let sorted = others.compactMap(\.times).sorted { $0.mean < $1.mean }
        guard let own = times, !sorted.isEmpty else { return nil }
        let usual = sorted[(sorted.count - 1) / 2]
        let difference = own.mean - usual.mean
        guard difference >= Bounds.nearBestMilliseconds, difference >= usual.mean * Bounds.slowerPart,
            difference >= 3 * (own.varianceOfMean + usual.varianceOfMean).squareRoot()
        else { return nil }
        return difference / usual.mean
    }
}
