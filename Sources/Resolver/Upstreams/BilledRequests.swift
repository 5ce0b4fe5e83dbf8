// Questions that a vendor counts for an account's bill, by cause, in the current day and month of UTC. One name and
// address family is one question, as vendors count, even if a request carries several.

/// Why a question was sent to a provider. The raw values appear in statistics.
package enum RequestCause: String, CaseIterable, Sendable {
    /// A client's question, sent first or after a failure.
    case client
    case refresh
    /// Another provider was late.
    case hedge
    /// A background measurement, a comparison, or a trial behind a captive portal.
    case measurement
}

package struct BilledRequests: Equatable, Sendable {
    package enum Period: String, CaseIterable, Sendable {
        case day, month
    }

    package struct Quota: Equatable, Sendable {
        /// 1 or more.
        package let requests: Int
        package let period: Period

        package init(_ requests: Int, per period: Period) {
            self.requests = requests
            self.period = period
        }
    }

    /// How much of a quota is used. The raw values appear in statistics.
    package enum QuotaLevel: String, Comparable, Sendable {
        case free
        /// 80 % or more.
        case nearlyUsed = "nearly-used"
        case usedUp = "used-up"

        private var order: Int { [.free, .nearlyUsed, .usedUp].firstIndex(of: self) ?? 0 }

        package static func < (left: QuotaLevel, right: QuotaLevel) -> Bool { left.order < right.order }
    }

    /// Days since 1970.
    private var day: Int
    private var counts: [Period: [RequestCause: Int]] = [:]

    private static let warningShare = 0.8
    /// 2020-01-01. A clock before this day is not set yet; its time counts as that of the last count.
    private static let firstDay = 18_262
    private static let dayMilliseconds: Int64 = 86_400_000

    package init(unixMilliseconds: Int64) {
        day = BilledRequests.day(unixMilliseconds)
    }

    package func count(_ period: Period, _ cause: RequestCause) -> Int { counts[period]?[cause] ?? 0 }

    package func total(_ period: Period) -> Int { counts[period]?.values.reduce(0, +) ?? 0 }

    package func level(of quota: Quota) -> QuotaLevel {
        let used = total(quota.period)
        if used >= quota.requests { return .usedUp }
        return Double(used) >= Double(quota.requests) * BilledRequests.warningShare ? .nearlyUsed : .free
    }

    package mutating func add(_ count: Int, _ cause: RequestCause, unixMilliseconds: Int64) {
        turn(to: unixMilliseconds)
        for period in Period.allCases { counts[period, default: [:]][cause, default: 0] += count }
    }

    /// Adds what was counted before, for example before a restart, as far as its periods have not ended.
    package mutating func add(_ earlier: BilledRequests) {
        var earlier = earlier
        if day < BilledRequests.firstDay { day = max(day, earlier.day) }
        earlier.turn(to: Int64(day) * BilledRequests.dayMilliseconds)
        for (period, causes) in earlier.counts {
            counts[period, default: [:]].merge(causes) { $0 + $1 }
        }
    }

    /// Ends the periods that are over. A clock that was set back, or is not set yet, ends none.
    package mutating func turn(to unixMilliseconds: Int64) {
        let today = BilledRequests.day(unixMilliseconds)
        guard today >= BilledRequests.firstDay, today != day else { return }
        if today > day {
            counts[.day] = nil
            if BilledRequests.month(today) != BilledRequests.month(day) { counts[.month] = nil }
        }
        day = today
    }

    /// When the period ends, in milliseconds since 1970.
    package func end(of period: Period) -> Int64 {
        var next = day + 1
        if period == .month {
            while BilledRequests.month(next) == BilledRequests.month(day) { next += 1 }
        }
        return Int64(next) * BilledRequests.dayMilliseconds
    }

    // MARK: text

    /// For the store: "DAY day CLIENT REFRESH HEDGE MEASUREMENT month CLIENT ...".
    package var text: String {
        let periods = Period.allCases.map { period in
            ([period.rawValue] + RequestCause.allCases.map { "\(count(period, $0))" }).joined(separator: " ")
        }
        return (["\(day)"] + periods).joined(separator: " ")
    }

    /// Returns nil for text that `text` cannot have written.
    package init?(text: String) {
        var words = text.split(separator: " ")[...]
        guard let day = words.popFirst().flatMap({ Int($0) }), (0...Int(Int32.max)).contains(day) else { return nil }
        self.day = day
        for period in Period.allCases {
            guard words.popFirst().map(String.init) == period.rawValue else { return nil }
            for cause in RequestCause.allCases {
                guard let count = words.popFirst().flatMap({ Int($0) }), (0...Int(Int32.max)).contains(count) else {
                    return nil
                }
                counts[period, default: [:]][cause] = count
            }
        }
        guard words.isEmpty else { return nil }
    }

    // MARK: calendar

    private static func day(_ unixMilliseconds: Int64) -> Int { Int(max(unixMilliseconds, 0) / dayMilliseconds) }

    /// Months since year 0, in the Gregorian calendar. A year begins in March here, so that the leap day is its last
    /// day; months then begin at multiples of 30.6 days.
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
