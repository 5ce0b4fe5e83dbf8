// Setting `stands-in`.

/// Setting `stands-in`.
package enum StandInPolicy: String, Sendable, CaseIterable {
    /// The system resolver stands in if no provider could be reached.
    case unreachable
    /// The system resolver stands in if no provider had an answer, whatever the providers replied.
    case anyFailure = "any-failure"
    case never
}
