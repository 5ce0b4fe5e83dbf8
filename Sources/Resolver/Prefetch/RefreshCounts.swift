// Counts of refreshes: `started` is the sum of `succeeded`, `failed` and those in flight. `used` counts answers that
// were read before they expired.

package struct RefreshCounts: Equatable, Sendable {
    package var started: UInt64 = 0
    package var succeeded: UInt64 = 0
    package var failed: UInt64 = 0
    package var used: UInt64 = 0
}
