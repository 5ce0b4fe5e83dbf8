// What a member keeps over restarts, in the store.

/// The raw value names it there.
package enum FleetNote: String, CaseIterable, Sendable {
    /// Which flushes are carried out, as in `FlushLog`.
    case flushes = "fleet-flushes"
    /// The number of members.
    case size = "fleet-size"
    /// The sums of billed questions, as in `SharedBills`.
    case bills = "fleet-bills"
}
