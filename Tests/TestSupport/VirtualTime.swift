// The moment at which tests with a virtual clock begin.

package import DNSWire

extension Instant {
    /// An instant some time after boot, so that earlier instants exist.
    package static let testStart = Instant(nanoseconds: 1_000_000_000_000_000)
}
