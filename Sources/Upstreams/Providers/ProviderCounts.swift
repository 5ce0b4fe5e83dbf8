// How a provider's requests have ended, for statistics and the log.

import DNSWire
package import Resolver
import Telemetry

package struct ProviderCounts {
    var requests: UInt64 = 0
    /// Questions in requests; each request has at least one.
    var names: UInt64 = 0
    private(set) var failures: [FetchFailure: UInt64] = [:]
    private(set) var answeredRequests: UInt64 = 0
    /// Requests that failed for all their questions.
    private(set) var failedRequests: [FetchFailure: UInt64] = [:]
    private(set) var latest = LatestResults()
    private(set) var latency = LatencyHistogram()
    package private(set) var lastFailure: FetchFailure?
    /// The reason of the last failure.
    package private(set) var lastReason = ""

    /// - Parameter failure: the failure of the first name; nil if a name has an answer.
    mutating func replied(_ failure: FetchFailure?, after elapsed: Duration) {
        latency.record(elapsed)
        if let failure { failedRequests[failure, default: 0] += 1 } else { answeredRequests += 1 }
        latest.add(isSuccess: failure == nil)
    }

    mutating func failed(_ failure: FetchFailure, _ reason: String) {
        failedInPart(failure)
        failedRequests[failure, default: 0] += 1
        latest.add(isSuccess: false)
        (lastFailure, lastReason) = (failure, reason)
    }

    /// Counts the failure of one question in a request whose others were answered.
    mutating func failedInPart(_ failure: FetchFailure) { failures[failure, default: 0] += 1 }

    /// Forgets what `providers reset` resets.
    mutating func reset() { latest = LatestResults() }
}
