// Questions that vendors count, summed over all members, for the quota of an account.

import DNSWire

struct SharedBills: Sendable {
    private struct Bill {
        var untold = 0
        /// Of all members, without `untold`; nil: Redis has not told it.
        var sum: Int?
    }

    /// Longer than a month. Another period has another account.
    static let life: Duration = .seconds(40 * 24 * 3600)
    /// Each provider has an account for the present period; those of former periods go first.
    private static let maxCount = 16

    private var bills: [String: Bill] = [:]
    /// The oldest first.
    private var accounts: [String] = []

    mutating func add(_ count: Int, _ account: String) {
        if bills[account] == nil {
            accounts.append(account)
            if accounts.count > SharedBills.maxCount { bills[accounts.removeFirst()] = nil }
        }
        bills[account, default: Bill()].untold += count
    }

    mutating func set(_ sum: Int, _ account: String) { bills[account]?.sum = sum }

    func sum(_ account: String) -> Int? { bills[account].flatMap { bill in bill.sum.map { $0 + bill.untold } } }

    /// Returns what Redis has to be told: also accounts without news, as others may have changed their sums, and Redis
    /// may have lost them.
    mutating func takeUntold() -> [(account: String, count: Int, sum: Int)] {
        accounts.map { account in
            defer { bills[account]?.untold = 0 }
            return (account, bills[account]?.untold ?? 0, bills[account]?.sum ?? 0)
        }
    }
}
