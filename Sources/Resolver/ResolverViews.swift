// Read-only views of the resolver's state, for reports and for the code that carries out its actions.

package import DNSWire

extension Resolver {
    /// Limits of the policy for serving expired answers.
    package func limits(for question: Question) -> Freshness.Limits { routing.policy.of(question.name).limits }

    /// Queries per second; 0 if the question is not remembered.
    package func demand(for question: Question) -> Double { plan.demand(for: question) }

    /// Number of a provider's answers that had only addresses that no public name may have.
    package func privateAnswers(from provider: ProviderID) -> UInt64 { around.privateAnswers[provider] ?? 0 }

    /// Number of system resolver answers given in place of a provider's.
    package func standIns(for reason: StandInReason) -> UInt64 { around.standIns[reason] ?? 0 }

    /// Nil for an unknown provider.
    package func state(of provider: ProviderID, now: Instant) -> ProviderState? {
        around.ranking.state(of: provider, now: now)
    }

    package func estimate(of provider: ProviderID, now: Instant) -> ProviderEstimate? {
        around.ranking.estimate(of: provider, now: now)
    }

    /// A name's addresses in the order of its answers; addresses in no answer come last.
    package func judged(_ name: Name) -> [JudgedAddress] { around.verification.judged(name) }

    /// Names with known addresses.
    package var judgedNames: [Name] { around.verification.names }

    package var probeCounts: ProbeCounts { around.verification.counts }

    /// The system resolver's trust, from 0 to 1; 1 if it never gave a forged answer.
    package func systemTrust(now: Instant) -> Double { around.systemTrust.share(now) }

    /// The suspected captive portal; nil if there is none.
    package var portal: PortalState? { around.portal.state }

    package func shadowCounts(of provider: ProviderID) -> ShadowCounts { around.shadows.counts(of: provider) }
}
