// What operators see of a provider's standing.

/// In the words that statistics use.
package enum ProviderState: String, Equatable, Sendable, CaseIterable {
    case up
    /// Failed, and has not answered since.
    case down
    /// Wants us to ask less.
    case throttled
    /// Does not serve our account.
    case blocked
    /// Its `questionsPerSecond` are used up.
    case overBudget = "over-budget"
    /// Has not answered yet, and not failed either.
    case unmeasured
}

package struct ProviderEstimate: Equatable, Sendable {
    /// Smoothed; nil until the first answer.
    package let latencyMilliseconds: Double?
    /// Of the last 64 answers.
    package let percentile95Milliseconds: Double?
    /// Of about the last minute, from 0 to 1; near 1 while little was asked.
    package let successShare: Double
    /// How far its word can be trusted, from 0 to 1; 1 while it was never found out.
    package let trust: Double
    /// Its part of the lookups that began of late, from 0 to 1.
    package let firstShare: Double
    /// When it is asked again; nil: it is asked.
    package let retryAt: Instant?
}

package struct ProviderStateChange: Equatable, Sendable {
    package let provider: ProviderID
    package let from: ProviderState
    package let to: ProviderState
}
