// The offset of a provider's clock, learned from its replies and used to date signatures. With it, a machine with a
// wrong clock can still resolve the names of its time servers. Reads no clock.

package struct ServerClock: Equatable, Sendable {
    /// How far the provider's clock is ahead of ours, in milliseconds; 0 until a reply shows otherwise.
    package private(set) var offsetMilliseconds: Int64 = 0

    /// The `Date` header has whole seconds and is some time old, so smaller differences are ignored.
    static let toleranceMilliseconds: Int64 = 2000

    package init() {}

    /// - Parameters:
    ///   - date: the `Date` header; an unreadable one is ignored.
    ///   - wallMilliseconds: our time at its arrival, in milliseconds since 1970.
    /// - Returns: true if a request dated with the old offset should be retried.
    @discardableResult
    package mutating func learn(date: String?, wallMilliseconds: Int64) -> Bool {
        guard let date = date.flatMap(HTTPDate.init) else { return false }
        let offset = date.unixSeconds * 1000 - wallMilliseconds
        guard abs(offset - offsetMilliseconds) > ServerClock.toleranceMilliseconds else { return false }
        offsetMilliseconds = abs(offset) > ServerClock.toleranceMilliseconds ? offset : 0
        return true
    }

    /// Returns true if a request dated with the other clock should be retried with this one.
    package func differs(from other: ServerClock) -> Bool {
        abs(offsetMilliseconds - other.offsetMilliseconds) > ServerClock.toleranceMilliseconds
    }

    /// Returns the provider's time in milliseconds since 1970.
    package func now(wallMilliseconds: Int64) -> Int64 { wallMilliseconds + offsetMilliseconds }
}

/// A date in the preferred form of RFC 9110 section 5.6.7, such as "Sun, 06 Nov 1994 08:49:37 GMT". Servers no longer
/// send other forms.
package struct HTTPDate: Equatable, Sendable, CustomStringConvertible {
    package let unixSeconds: Int64

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    package init(unixSeconds: Int64) {
        self.unixSeconds = unixSeconds
    }

    package init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0].count == 4, words[0].last == ",", words[5] == "GMT" else { return nil }
        guard let day = HTTPDate.number(words[1], digits: 2), let year = HTTPDate.number(words[3], digits: 4),
            let month = HTTPDate.months.firstIndex(of: String(words[2])), (1970...9999).contains(year)
        else { return nil }
        let isLeapDay = month == 1 && day == 29 && HTTPDate.isLeap(year)
        guard (1...HTTPDate.daysInMonth[month]).contains(day) || isLeapDay else { return nil }
        let parts = words[4].split(separator: ":", omittingEmptySubsequences: false)
        let time = parts.compactMap { HTTPDate.number($0, digits: 2) }
        // 60 allows a leap second.
        guard parts.count == 3, time.count == 3, time[0] < 24, time[1] < 60, time[2] <= 60 else { return nil }
        let days = HTTPDate.days(beforeYear: year) + HTTPDate.days(beforeMonth: month, in: year) + day - 1
        unixSeconds = Int64(((days * 24 + time[0]) * 60 + time[1]) * 60 + time[2])
    }

    /// The date in HTTP form.
    package var description: String {
        let days = Int(unixSeconds / 86_400)
        let second = Int(unixSeconds % 86_400)
        var year = 1970
        while HTTPDate.days(beforeYear: year + 1) <= days { year += 1 }
        let dayOfYear = days - HTTPDate.days(beforeYear: year)
        var month = 0
        while month < 11, HTTPDate.days(beforeMonth: month + 1, in: year) <= dayOfYear { month += 1 }
        let day = dayOfYear - HTTPDate.days(beforeMonth: month, in: year) + 1
        // 1 January 1970 was a Thursday.
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][days % 7]
        let time = [second / 3600, second / 60 % 60, second % 60].map(HTTPDate.twoDigits).joined(separator: ":")
        return "\(weekday), \(HTTPDate.twoDigits(day)) \(HTTPDate.months[month]) \(year) \(time) GMT"
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func number(_ text: Substring, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }

    private static func isLeap(_ year: Int) -> Bool {
        year.isMultiple(of: 4) && !year.isMultiple(of: 100) || year.isMultiple(of: 400)
    }

    /// Returns days since 1970.
    private static func days(beforeYear year: Int) -> Int {
        let leaps = { (year: Int) in year / 4 - year / 100 + year / 400 }
        return (year - 1970) * 365 + leaps(year - 1) - leaps(1969)
    }

    /// - Parameter month: 0 is January.
    private static func days(beforeMonth month: Int, in year: Int) -> Int {
        daysInMonth[..<month].reduce(0, +) + (month > 1 && isLeap(year) ? 1 : 0)
    }
}
