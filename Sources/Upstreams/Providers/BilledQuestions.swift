// Questions that a vendor counts for an account's bill, by cause, in the current day and month of UTC. One name and
// address family is one question, as vendors count, even if a request carries several.

import DNSWire
import Resolver

struct BilledQuestions: Equatable, Sendable {
    typealias Period = QuestionQuota.Period

    /// How much of a quota is used. The raw values appear in statistics.
    enum QuotaLevel: String, Comparable, Sendable {
        case free
        /// 80 % or more of the quota is used.
        case nearlyUsed = "nearly-used"
        case usedUp = "used-up"

        private var order: Int { [.free, .nearlyUsed, .usedUp].firstIndex(of: self) ?? 0 }

        static func < (left: QuotaLevel, right: QuotaLevel) -> Bool { left.order < right.order }
    }

    /// The questions since a period began.
    private struct Tally: Equatable {
        /// Counts days since 1970, or months since year 0.
        let period: Int
        var counts: [RequestCause: Int]
        /// When the clock came to this period, in milliseconds since 1970; nil: not since the start of the daemon.
        var shownSince: Int64?
        /// The clock has stayed in an earlier period: questions do not count in this one until the clock shows it
        /// again.
        var isFrozen = false

        /// Adds questions. The count stops at `maxCount`.
        mutating func add(_ count: Int, _ cause: RequestCause) {
            guard !isFrozen else { return }
            counts[cause] = min((counts[cause] ?? 0) + min(count, BilledQuestions.maxCount), BilledQuestions.maxCount)
        }
    }

    /// Tallies of the periods that the clock showed last, with the present one at the end. Every question counts in all
    /// of them that are not frozen, so no count is lost if the clock was wrong for a while, ahead or behind.
    private var tallies: [Period: [Tally]] = [:]

    private static let warningShare = 0.8
    /// Maximum number of tallies: the right period, and two that a wrong clock showed.
    private static let maxTallies = 3
    /// 6 hours. A clock that has stayed in a period for so long was right to end the earlier periods, and any later
    /// ones that it showed since the start were a mistake. Later periods from before the start may be right: without a
    /// real-time clock, a machine is in the past until it hears the time.
    private static let stableClockMilliseconds: Int64 = 6 * 3_600_000
    /// Maximum of one count: the sum over all causes does not overflow.
    private static let maxCount = Int.max / RequestCause.allCases.count

    init(unixMilliseconds: Int64) {
        turn(to: unixMilliseconds)
    }

    func count(_ period: Period, _ cause: RequestCause) -> Int {
        tallies[period]?.last?.counts[cause] ?? 0
    }

    func total(_ period: Period) -> Int {
        tallies[period]?.last?.counts.values.reduce(0, +) ?? 0
    }

    /// - Parameter used: the questions of all machines with the account; nil: those of this machine.
    func level(of quota: QuestionQuota, used: Int? = nil) -> QuotaLevel {
        let used = used ?? total(quota.period)
        if used >= quota.questions { return .usedUp }
        return Double(used) >= Double(quota.questions) * BilledQuestions.warningShare ? .nearlyUsed : .free
    }

    mutating func add(_ count: Int, _ cause: RequestCause, unixMilliseconds: Int64) {
        turn(to: unixMilliseconds)
        for period in Period.allCases { changeTallies(of: period) { $0.add(count, cause) } }
    }

    /// Adds earlier counts, such as those from before a restart. A period that only the earlier counts have gets the
    /// counts of the present period.
    mutating func add(_ earlier: BilledQuestions, unixMilliseconds: Int64) {
        turn(to: unixMilliseconds)
        let own = self
        self = earlier
        turn(to: unixMilliseconds)
        for period in Period.allCases {
            let added = own.tallies[period, default: []]
            changeTallies(of: period) { tally in
                let counts = (added.first { $0.period == tally.period } ?? added.last)?.counts ?? [:]
                for (cause, count) in counts { tally.add(count, cause) }
            }
        }
    }

    private mutating func changeTallies(of period: Period, _ change: (inout Tally) -> Void) {
        for index in tallies[period, default: []].indices { change(&tallies[period, default: []][index]) }
    }

    /// Shows the counts of the period of this time. A period that follows another one begins with 0. A period before
    /// all others means that the clock was set back, or is not set yet: it begins with the counts shown last, so that
    /// no quota seems free.
    mutating func turn(to unixMilliseconds: Int64) {
        for period in Period.allCases {
            let present = period.number(at: unixMilliseconds)
            var list = tallies[period, default: []]
            if let last = list.last, last.period == present {
                let since = last.shownSince ?? unixMilliseconds
                list[list.count - 1].shownSince = since
                if unixMilliseconds - since >= BilledQuestions.stableClockMilliseconds {
                    list.removeAll { $0.period < present }
                    for index in list.indices.dropLast() where list[index].shownSince != nil {
                        list[index].isFrozen = true
                    }
                }
            } else {
                let known = list.firstIndex { $0.period == present }.map { list.remove(at: $0) }
                let isSetBack = list.allSatisfy { present < $0.period }
                var tally = known ?? Tally(period: present, counts: isSetBack ? list.last?.counts ?? [:] : [:])
                (tally.shownSince, tally.isFrozen) = (unixMilliseconds, false)
                list.append(tally)
            }
            tallies[period] = list.suffix(BilledQuestions.maxTallies)
        }
    }

    // MARK: text

    private static let frozenWord = "frozen"

    /// The text for the store: "day NUMBER CLIENT REFRESH HEDGE MEASUREMENT frozen day NUMBER ... month NUMBER ...", in
    /// the order of `tallies`.
    var text: String {
        Period.allCases.flatMap { period in
            tallies[period, default: []].map { tally in
                let numbers = [tally.period] + RequestCause.allCases.map { tally.counts[$0] ?? 0 }
                let words = (tally.isFrozen ? [BilledQuestions.frozenWord] : []) + [period.rawValue]
                return (words + numbers.map(String.init)).joined(separator: " ")
            }
        }.joined(separator: " ")
    }

    /// Returns nil for text that `text` cannot have written.
    init?(text: String) {
        var words = text.split(separator: " ")[...]
        let nextNumber = {
            words.popFirst().flatMap { Int($0) }.flatMap { 0...BilledQuestions.maxCount ~= $0 ? $0 : nil }
        }
        while var word = words.popFirst() {
            let isFrozen = word == BilledQuestions.frozenWord
            if isFrozen { word = words.popFirst() ?? "" }
            guard let period = Period(rawValue: String(word)), let number = nextNumber() else { return nil }
            var tally = Tally(period: number, counts: [:], isFrozen: isFrozen)
            for cause in RequestCause.allCases {
                guard let count = nextNumber() else { return nil }
                tally.counts[cause] = count
            }
            tallies[period, default: []].append(tally)
        }
        let areWhole = Period.allCases.allSatisfy { period in
            let list = tallies[period, default: []]
            return list.count <= BilledQuestions.maxTallies && list.last?.isFrozen == false
        }
        guard areWhole else { return nil }
    }
}

extension BilledQuestions.Period {
    private static let dayMilliseconds: Int64 = 86_400_000

    fileprivate func number(at unixMilliseconds: Int64) -> Int {
        let day = Int(max(unixMilliseconds, 0) / Self.dayMilliseconds)
        return self == .day ? day : Self.month(day)
    }

    /// Returns when the period of this time ends. Both times are in milliseconds since 1970.
    func end(after unixMilliseconds: Int64) -> Int64 {
        let day = BilledQuestions.Period.day.number(at: unixMilliseconds)
        var next = day + 1
        if self == .month {
            while Self.month(next) == Self.month(day) { next += 1 }
        }
        return Int64(next) * Self.dayMilliseconds
    }

    /// Returns the months since year 0, in the Gregorian calendar. A year begins in March here, so that the leap day is
    /// its last day; months then begin at multiples of 30.6 days.
    private static func month(_ day: Int) -> Int {
        let (daysPer400Years, daysPerCentury, daysPer4Years) = (146_097, 36_524, 1_460)
        // 1970-01-01 is 719,468 days after 0000-03-01.
        let days = day + 719_468
        let dayOfEra = days % daysPer400Years
        let yearOfEra =
            (dayOfEra - dayOfEra / daysPer4Years + dayOfEra / daysPerCentury - dayOfEra / (daysPer400Years - 1)) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        return (days / daysPer400Years * 400 + yearOfEra) * 12 + (5 * dayOfYear + 2) / 153
    }
}
