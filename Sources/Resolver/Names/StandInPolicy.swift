// Setting `stands-in`.

/// Setting `stands-in`.
package enum StandInPolicy: String, Sendable, CaseIterable {
    /// No provider could be reached.
    case unreachable
    /// No provider had an answer, whatever the providers replied.
    case anyFailure = "any-failure"
    case never
}
