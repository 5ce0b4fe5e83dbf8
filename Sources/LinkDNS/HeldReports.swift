// The reports of one program about links. They outlast its restart, in which it says nothing for some seconds.

package import DNSWire

package struct HeldReports {
    /// The latest reports.
    package private(set) var reports: [LinkReport] = []
    /// When the reports end, because the program is away; nil: the program is there.
    package private(set) var endsAt: Instant?

    /// How long the reports of a program that is away are kept. A restart takes seconds. Links that really end
    /// meanwhile are known from the kernel.
    private static let hold: Duration = .seconds(30)

    package init() {}

    /// - Parameter new: nil while the program is away. Just after a restart it may not have found its links again, so
    ///   that an empty list does not end the hold.
    package mutating func take(_ new: [LinkReport]?, now: Instant) {
        if let new, !new.isEmpty || endsAt == nil {
            (reports, endsAt) = (new, nil)
        } else if endsAt == nil, !reports.isEmpty {
            // A VPN may have no interface of its own whose end the kernel would tell.
            reports.removeAll { $0.connection == .vpn }
            endsAt = now + HeldReports.hold
        }
    }

    /// - Returns: whether the reports have ended.
    package mutating func timePassed(now: Instant) -> Bool {
        guard let endsAt, endsAt <= now else { return false }
        self = HeldReports()
        return true
    }
}
