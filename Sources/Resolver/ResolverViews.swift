// What others may read of the resolver's state: for reports, and for those who carry out what it decides. Changes
// nothing.

package import DNSWire

extension Resolver {
    /// Which expired answers the policy lets be used.
    package func limits(for question: Question) -> Freshness.Limits { routing.policy.of(question.name).limits }

    /// Asks per second, as far as they are remembered.
    package func demand(for question: Question) -> Double { plan.demand(for: question) }

    /// How many of a provider's answers had nothing but addresses that no public name may have.
    package func privateAnswers(from provider: ProviderID) -> UInt64 { around.privateAnswers[provider] ?? 0 }

    /// How often the system resolver's answer was given in place of a provider's.
    package func standIns(for reason: StandInReason) -> UInt64 { around.standIns[reason] ?? 0 }

    /// Nil for a provider that is not known.
    package func state(of provider: ProviderID, now: Instant) -> ProviderState? {
        around.ranking.state(of: provider, now: now)
    }

    package func estimate(of provider: ProviderID, now: Instant) -> ProviderEstimate? {
        around.ranking.estimate(of: provider, now: now)
    }

    /// What is known of a name's addresses, in the order of its answers; those in no answer last.
    package func judged(_ name: Name) -> [JudgedAddress] { around.verification.judged(name) }

    /// Names whose addresses something is known of.
    package var judgedNames: [Name] { around.verification.names }

    package var probeCounts: ProbeCounts { around.verification.counts }

    /// From 0 to 1; 1 while it was never found out.
    package func systemTrust(now: Instant) -> Double { around.systemTrust.share(now) }

    /// Nil when none is suspected.
    package var portal: PortalState? { around.portal.state }

    package func shadowCounts(of provider: ProviderID) -> ShadowCounts { around.shadows.counts(of: provider) }
}
