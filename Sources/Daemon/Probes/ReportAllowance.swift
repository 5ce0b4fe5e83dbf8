// Per-user rate limit for reports: each report costs a probe, and every user with access to the socket may send one.

import DNSWire
import LinuxIO

struct ReportAllowance {
    /// For each user, the time at which the reports so far are paid for at one per `interval`. A user without an entry,
    /// or whose time has passed, has all of `saved`.
    private var paidUntil: [UInt32: Instant] = [:]

    static let interval: Duration = .seconds(1)
    /// Burst for a program whose connections all fail at once.
    static let saved = 10
    /// Bound on users that report within a few seconds. Further users are refused until an entry has expired.
    static let maxUsers = 256

    /// Returns false if the report exceeds the limit for now.
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
