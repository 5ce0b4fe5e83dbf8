// Questions that vendors count, summed over all members, for the quota of an account. Redis has the sum as a value that
// only members can make. A member replaces the value that it has read last; if another member was faster, it reads
// again.

import Crypto
import DNSWire

struct SharedBills: Sendable {
    /// A sum of all members.
    private struct Sum: Equatable {
        /// How often the questions were counted anew; a higher number replaces the sums of lower ones.
        var recounts = 0
        var questions = 0

        private static let maxRecounts = 1_000_000_000

        init(recounts: Int = 0, questions: Int = 0) {
            (self.recounts, self.questions) = (recounts, min(max(0, questions), SharedBills.maxSum))
        }

        /// "QUESTIONS" or "QUESTIONS/RECOUNTS".
        init?(_ text: some StringProtocol) {
            let numbers = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
            guard 1...2 ~= numbers.count, let questions = numbers[0], let recounts = numbers.count > 1 ? numbers[1] : 0,
                0...SharedBills.maxSum ~= questions, 0...Sum.maxRecounts ~= recounts
            else { return nil }
            self.init(recounts: recounts, questions: questions)
        }

        var text: String { recounts == 0 ? "\(questions)" : "\(questions)/\(recounts)" }
    }

    private struct Offer {
        let value: [UInt8]
        let sum: Sum
        /// How many of `Bill.pending` are in the sum.
        let count: Int
    }

    private struct Bill {
        /// Questions that are in no sum of Redis.
        var pending = 0
        /// All questions of this member in the period.
        var own = 0
        /// The sum of all members, without `pending`; nil: unknown.
        var sum: Sum?
        /// The value that Redis had last; empty: none.
        var stored: [UInt8] = []
        /// The offer in a call that runs.
        var offer: Offer?
        /// The offer in a call whose reply was lost.
        var lost: Offer?
        /// Offers in a row that came too late.
        var tries = 0

        /// Redis has the offered value.
        mutating func took(_ offer: Offer) {
            (pending, sum, stored) = (max(0, pending - offer.count), offer.sum, offer.value)
        }

        /// Takes over the sum unless the known one is newer.
        mutating func learn(_ told: Sum) {
            let known = sum ?? Sum()
            if told.recounts > known.recounts { pending = own }
            if told.recounts >= known.recounts {
                let isNew = told.recounts > known.recounts || told.questions > known.questions || sum == nil
                if isNew { sum = told }
            }
        }
    }

    /// The life of a sum in Redis. It is longer than a month: the next period has another account.
    static let life: Duration = .seconds(40 * 24 * 3600)
    /// The largest sum that is accepted. Larger sums are wrong.
    static let maxSum = 10_000_000_000_000
    /// The maximum number of accounts: two periods of each provider. The least recently used account goes first.
    private static let maxCount = 64
    /// The maximum number of tries in a row. After them, the member waits for the next sign of life.
    private static let maxTries = 4
    private static let maxNoteBytes = 4000

    private var bills: [String: Bill] = [:]
    /// The accounts, the least recently used first.
    private var accounts: [String] = []
    private var hasNewSums = false

    /// Restores the sums: Redis and all members may have been started anew.
    ///
    /// - Parameter note: what `takeNote` returned last before the start.
    mutating func restore(_ note: String) {
        for (number, account) in FleetNote.lines(of: note).reversed() {
            guard let sum = Sum(number) else { continue }
            add(0, account)
            bills[account]?.learn(sum)
        }
    }

    /// Returns a line for each sum, the most recently used account first; nil: no sum has changed.
    mutating func takeNote() -> String? {
        guard hasNewSums else { return nil }
        hasNewSums = false
        var note = ""
        for account in accounts.reversed() {
            guard let sum = bills[account]?.sum, case let line = "\(sum.text) \(account)\n",
                note.utf8.count + line.utf8.count <= SharedBills.maxNoteBytes
            else { continue }
            note += line
        }
        return note
    }

    /// - Parameter own: all questions of this member in the period, with these; nil: as before.
    mutating func add(_ count: Int, _ account: String, own: Int? = nil) {
        if accounts.last != account {
            accounts.removeAll { $0 == account }
            accounts.append(account)
        }
        if accounts.count > SharedBills.maxCount { bills[accounts.removeFirst()] = nil }
        bills[account, default: Bill()].pending += count
        if let own { bills[account]?.own = own }
    }

    func sum(_ account: String) -> Int? {
        bills[account].flatMap { bill in bill.sum.map { $0.questions + bill.pending } }
    }

    /// Counts the questions anew, from those that each member has counted itself.
    mutating func recount(_ account: String) {
        guard var bill = bills[account] else { return }
        bill.learn(Sum(recounts: (bill.sum?.recounts ?? 0) + 1))
        (bill.offer, bill.lost) = (nil, nil)
        bills[account] = bill
        hasNewSums = true
    }

    /// Returns the calls that tell Redis the sums: also those without new questions, as other members may have changed
    /// them, and Redis may have lost them.
    mutating func calls(at time: RedisTime, _ keys: FleetKeys) -> [FleetCall] {
        accounts.compactMap { account in
            guard var bill = bills[account], bill.offer == nil else { return nil }
            let known = bill.sum ?? Sum()
            let sum = Sum(recounts: known.recounts, questions: known.questions + bill.pending)
            guard let names = try? SharedBills.names(account, keys),
                let values = try? SharedBills.values(sum, names, at: time, keys)
            else { return nil }
            bill.offer = Offer(value: values[0], sum: sum, count: bill.pending)
            bills[account] = bill
            let life = FleetCall.number(SharedBills.life.wholeMilliseconds)
            return FleetCall(.billing, keys: names, [bill.stored, life] + values, .billing(account: account))
        }
    }

    /// Returns the value that a call has for Redis.
    static func value(of call: FleetCall) -> [UInt8] { call.arguments[2] }

    private static func names(_ account: String, _ keys: FleetKeys) throws(CryptoError) -> [String] {
        try keys.names("q:", "billing", [Array(account.utf8)])
    }

    private static func values(
        _ sum: Sum, _ names: [String], at time: RedisTime, _ keys: FleetKeys
    ) throws(CryptoError) -> [[UInt8]] {
        var values: [[UInt8]] = []
        for name in names { values.append(try keys.seal(Array(sum.text.utf8), .sum, place: name, at: time)) }
        return values
    }

    /// Redis has taken the value.
    mutating func taken(_ value: [UInt8], _ account: String) {
        guard var bill = bills[account], let offer = bill.offer, offer.value == value else { return }
        if bill.sum != offer.sum { hasNewSums = true }
        bill.took(offer)
        (bill.offer, bill.lost, bill.tries) = (nil, nil, 0)
        bills[account] = bill
    }

    /// Redis has another value than the member had read last: the member reads it, and the next call replaces it.
    ///
    /// - Parameter value: the value that Redis has not taken.
    /// - Returns: whether to call again at once, and why the value of Redis is not used.
    mutating func differs(
        from value: [UInt8], _ account: String, _ stored: [UInt8], _ keys: FleetKeys
    ) -> (mayTryAgain: Bool, refusal: Refusal?) {
        guard var bill = bills[account], bill.offer?.value == value else { return (false, nil) }
        let former = bill.sum
        var refusal: Refusal?
        if let lost = bill.lost, lost.value == stored { bill.took(lost) }
        do throws(Refusal) {
            if !stored.isEmpty, let name = try? SharedBills.names(account, keys)[0] {
                let plain = try keys.open(stored, .sum, place: name).plain
                guard let sum = Sum(String(decoding: plain, as: UTF8.self)) else { throw .malformed }
                bill.learn(sum)
            }
        } catch {
            refusal = error
        }
        (bill.stored, bill.offer, bill.lost) = (stored, nil, nil)
        bill.tries += 1
        let mayTryAgain = bill.tries < SharedBills.maxTries
        if !mayTryAgain { bill.tries = 0 }
        if bill.sum != former { hasNewSums = true }
        bills[account] = bill
        return (mayTryAgain, refusal)
    }

    /// Redis has refused the call.
    mutating func failed(_ value: [UInt8], _ account: String) {
        if bills[account]?.offer?.value == value { bills[account]?.offer = nil }
    }

    /// Redis is not used any more, and may have taken the calls that it did not reply to.
    mutating func switchedOff() {
        for account in accounts {
            guard var bill = bills[account] else { continue }
            bill.lost = bill.offer ?? bill.lost
            (bill.offer, bill.tries) = (nil, 0)
            bills[account] = bill
        }
    }
}
