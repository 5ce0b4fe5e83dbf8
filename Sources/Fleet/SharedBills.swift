// Questions that vendors count, summed over all members, for the quota of an account.

import DNSWire

struct SharedBills: Sendable {
    private struct Bill {
        /// Not sent to Redis.
        var pending = 0
        /// Sent in a call that has no reply yet.
        var inCall = 0
        /// Of all members, without the above; nil: unknown.
        var sum: Int?
    }

    /// Longer than a month. Another period has another account.
    static let life: Duration = .seconds(40 * 24 * 3600)
    /// Larger sums are wrong.
    static let maxSum = 10_000_000_000_000
    /// Two periods of each provider; the one that was used least recently goes first.
    private static let maxCount = 64

    private static let maxNoteBytes = 4000

    private var bills: [String: Bill] = [:]
    /// The least recently used first.
    private var accounts: [String] = []
    private var hasNewSums = false

    /// Redis and all members may be started anew.
    ///
    /// - Parameter note: what `takeNote` returned last before the start.
    mutating func restore(_ note: String) {
        for (number, account) in FleetNote.lines(of: note).reversed() {
            guard let sum = Int(number), 0...SharedBills.maxSum ~= sum else { continue }
            add(0, account)
            let known = bills[account]?.sum ?? 0
            bills[account]?.sum = max(known, sum)
        }
    }

    /// Returns a line for each sum, the account that was used last first; nil: none has changed.
    mutating func takeNote() -> String? {
        guard hasNewSums else { return nil }
        hasNewSums = false
        var note = ""
        for account in accounts.reversed() {
            guard let sum = bills[account]?.sum, case let line = "\(sum) \(account)\n",
                note.utf8.count + line.utf8.count <= SharedBills.maxNoteBytes
            else { continue }
            note += line
        }
        return note
    }

    mutating func add(_ count: Int, _ account: String) {
        if accounts.last != account {
            accounts.removeAll { $0 == account }
            accounts.append(account)
        }
        if accounts.count > SharedBills.maxCount { bills[accounts.removeFirst()] = nil }
        bills[account, default: Bill()].pending += count
    }

    func sum(_ account: String) -> Int? {
        bills[account].flatMap { bill in bill.sum.map { $0 + bill.pending + bill.inCall } }
    }

    /// Returns what to send to Redis: also accounts without new questions, as others may have changed their sums, and
    /// Redis may have lost them.
    mutating func takePending() -> [(account: String, count: Int, sum: Int)] {
        accounts.compactMap { account in
            guard let bill = bills[account], bill.inCall == 0 else { return nil }
            bills[account]?.inCall = bill.pending
            bills[account]?.pending = 0
            return (account, bill.pending, bill.sum ?? 0)
        }
    }

    /// Redis has added `count` questions.
    mutating func acknowledged(_ count: Int, _ account: String, sum: Int) {
        guard var bill = bills[account] else { return }
        bill.inCall = max(0, bill.inCall - count)
        let former = bill.sum
        bill.sum = min(max(0, sum), SharedBills.maxSum)
        if bill.sum != former { hasNewSums = true }
        bills[account] = bill
    }

    /// Redis has refused the call.
    mutating func restorePending(_ account: String) {
        bills[account].map { bill in bills[account]?.pending = bill.pending + bill.inCall }
        bills[account]?.inCall = 0
    }

    /// Redis is not used any more, and may have taken the calls that it did not reply to. To count questions twice is
    /// better than not at all.
    mutating func switchedOff() { for account in accounts { restorePending(account) } }
}
