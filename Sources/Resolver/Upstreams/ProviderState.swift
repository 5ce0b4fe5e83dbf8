// A provider's state for operators.

package import DNSWire

/// State of a provider. The raw values appear in statistics.
package enum ProviderState: String, Equatable, Sendable, CaseIterable {
    case up
    /// The provider failed, and has not answered since.
    case down
    /// The provider throttles requests.
    case throttled
    /// The provider rejects the account.
    case blocked
    /// The provider's `questionsPerSecond` are used up.
    case overBudget = "over-budget"
    /// The quota of the provider's account is used up.
    case overQuota = "over-quota"
    /// The provider has neither answered nor failed yet.
    case unmeasured
    /// No address of the provider's host name is known.
    case unresolved
}

package struct ProviderEstimate: Equatable, Sendable {
    /// Smoothed mean; nil until the first answer.
    package let latencyMilliseconds: Double?
    /// The 95th percentile of the last 64 answers.
    package let percentile95Milliseconds: Double?
    /// Credibility of the provider's answers, from 0 to 1; 1 if none was found to be forged.
    package let credibility: Double
    /// The provider's share of the recently started lookups, from 0 to 1.
    package let firstShare: Double
    /// When the provider is asked again; nil if it is in use.
    package let retryAt: Instant?
}

package struct ProviderStateChange: Equatable, Sendable {
    package let upstream: RankedID
    package let from: ProviderState
    package let to: ProviderState
}
