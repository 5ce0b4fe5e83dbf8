// When the system resolver may answer in place of the providers, and why it did.

import DNSWire

/// Setting `stands-in`.
package enum StandInPolicy: String, Sendable, CaseIterable {
    /// No provider could be reached.
    case unreachable
    /// No provider had an answer, whatever the providers replied.
    case anyFailure = "any-failure"
    case never
}

/// The last time that the system resolver stood in for a question.
package struct StandIn: Equatable, Sendable {
    package let reason: StandInReason
    package let at: Instant
}

/// Reason why the system resolver's answer was given. The raw values appear in statistics.
package enum StandInReason: String, Sendable, CaseIterable {
    /// Every provider that was asked failed.
    case failed
    /// All providers were known to be down, so the lookup waited for none.
    case down
    /// No provider had answered in time.
    case late

    var extendedError: ExtendedError {
        switch self {
        case .failed: .stoodIn(for: "providers failed")
        case .down: .stoodIn(for: "providers down")
        case .late: .stoodIn(for: "providers late")
        }
    }
}
