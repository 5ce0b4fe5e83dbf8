// The audit's counts and findings as operators see them.

import Control
import DNSWire
import Resolver
import Upstreams

extension Statistics {
    var audit: AuditReport { AuditReport(audited(showsDomains: true)) }

    /// Returns the providers, the best first.
    ///
    /// - Parameter showsDomains: domains tell what the users of the machine ask.
    func audited(showsDomains: Bool) -> [AuditedProvider] {
        resolving.resolver.audit(now: now).enumerated().compactMap { place, result in
            guard let provider = resolving.upstreams.providers.providers.first(where: { $0.id == result.id }) else {
                return nil
            }
            return AuditedProvider(
                provider.name, rank: place + 1, price: result.traits.price, isCompared: result.isCompared,
                comparisons: result.comparisons, isConclusive: result.week.isConclusive,
                isOpen: !result.traits.verifies, day: .init(result.day, showsDomains: showsDomains),
                week: .init(result.week, showsDomains: showsDomains))
        }
    }
}

extension AuditReport.Window {
    fileprivate init(_ window: AuditWindow, showsDomains: Bool) {
        self.init(
            forged: .init(window.share(.forged, of: .judged)), denied: .init(window.share(.denied, of: .compared)),
            expired: .init(window.share(.expired, of: .aged)), late: .init(window.share(.late, of: .replies)),
            failed: .init(window.failing))
        requests = window.counts[.requests]
        replyMilliseconds = window.replyTime.map { AuditReport.rounded($0.milliseconds) }
        connectMilliseconds = window.distances.map { AuditReport.rounded($0.own.milliseconds) }
        othersConnectMilliseconds = window.distances.map { AuditReport.rounded($0.others.milliseconds) }
        findings = window.findings.map(AuditReport.Finding.init)
        guard showsDomains else { return }
        let kinds: [(AuditReport.Finding.Kind, AuditCount)] = [
            (.forges, .forged), (.denies, .denied), (.expires, .expired),
        ]
        domains = Dictionary(
            uniqueKeysWithValues: kinds.map { ($0.rawValue, (window.domains[$1] ?? []).map(\.description)) })
    }
}

extension AuditReport.Share {
    fileprivate init(_ share: AuditShare) { self.init(share.count, of: share.all, share.limits) }
}

extension AuditReport.Finding {
    fileprivate init(_ finding: AuditFinding) {
        switch finding {
        case .forges(let share): self.init(.forges, .init(share))
        case .denies(let share): self.init(.denies, .init(share))
        case .expires(let share): self.init(.expires, .init(share))
        case .fails(let share): self.init(.fails, .init(share))
        case .late(let share): self.init(.late, .init(share))
        case .slower(let part): self.init(.slower, amount: part)
        case .farther(let time): self.init(.farther, amount: time.milliseconds)
        case .dear(let cheapest): self.init(.dear, amount: cheapest)
        }
    }
}
