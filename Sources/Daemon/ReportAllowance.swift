// How many reports each user may make: a report costs a probe, and everyone who may open the socket may make one.

import LinuxIO

struct ReportAllowance {
    /// Until when the reports that a user has made would have been made at the pace of `interval`. Who is not here, or
    /// whose time has passed, has all of `saved`.
    private var paidUntil: [UInt32: Instant] = [:]

    static let interval: Duration = .seconds(1)
    /// A program whose connections all fail at once.
    static let saved = 10
    /// Users of one machine that report within a few seconds. One more than that waits.
    static let maxUsers = 256

    /// False when it is one too many for now.
    mutating func take(userID: UInt32, now: Instant) -> Bool {
        if paidUntil[userID] == nil, paidUntil.count >= ReportAllowance.maxUsers {
            paidUntil = paidUntil.filter { $0.value > now }
            guard paidUntil.count < ReportAllowance.maxUsers else { return false }
        }
        let paid = max(paidUntil[userID] ?? now, now)
        guard now.duration(to: paid) <= ReportAllowance.interval * (ReportAllowance.saved - 1) else { return false }
        paidUntil[userID] = paid + ReportAllowance.interval
        return true
    }
}
