// Formats numbers for people, in integer arithmetic, so that equal numbers give equal text.

import DNSWire
import Glibc

package enum LineFormat {
    /// Returns the two largest units: "3d04h", "4h05m", "5m06s" or "6s".
    static func uptime(seconds: Int) -> String {
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60)
        if days > 0 { return "\(days)d\(hours.digits(2))h" }
        if hours > 0 { return "\(hours)h\(minutes.digits(2))m" }
        if minutes > 0 { return "\(minutes)m\((seconds % 60).digits(2))s" }
        return "\(seconds)s"
    }

    /// Returns the two largest units, without zero parts: "10m", "1h30m", "1d" or "0s".
    package static func span(seconds: Int) -> String {
        let counts = [seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60]
        let parts = zip(counts, ["d", "h", "m", "s"]).drop { $0.0 == 0 }.prefix(2).filter { $0.0 != 0 }
        return parts.isEmpty ? "0s" : parts.map { "\($0.0)\($0.1)" }.joined()
    }

    /// Returns the number of a network as `network` shows it: "6f2c1a09". If providers are told the client subnet, the
    /// number is that of one subnet's cache partition.
    static func network(_ number: Int) -> String {
        number.digits(8, radix: 16)
    }

    /// Returns a time in UTC: "2026-11-21 12:34:56Z".
    package static func moment(secondsSince1970 seconds: Int64) -> String {
        "\(day(secondsSince1970: seconds)) \(timeOfDay(secondsSince1970: Int(seconds)))"
    }

    /// Returns a time in the form of RFC 3339: "2026-11-21T12:34:56.789Z".
    static func timestamp(millisecondsSince1970 milliseconds: Int64) -> String {
        let (seconds, rest) = (max(milliseconds, 0) / 1000, Int(max(milliseconds, 0) % 1000))
        let clock = timeOfDay(secondsSince1970: Int(seconds)).dropLast()
        return "\(day(secondsSince1970: seconds))T\(clock).\(rest.digits(3))Z"
    }

    /// Returns a time in UTC: "2026-11-21 12:34:56.123456Z". Times before 1970 count as 1970.
    static func preciseMoment(microsecondsSince1970: Int64) -> String {
        let microseconds = max(microsecondsSince1970, 0)
        let rest = microseconds % 1_000_000
        return "\(moment(secondsSince1970: (microseconds - rest) / 1_000_000).dropLast()).\(rest.digits(6))Z"
    }

    /// Returns a time of day in UTC: "12:34:56Z".
    static func timeOfDay(secondsSince1970 seconds: Int) -> String {
        let parts = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60]
        return parts.map { $0.digits(2) }.joined(separator: ":") + "Z"
    }

    /// Returns a date in UTC: "2026-11-21". A date outside the years 0 to 9999 becomes the nearest day within them.
    package static func day(secondsSince1970 seconds: Int64) -> String {
        let (year0, year9999): (Int64, Int64) = (-62_167_219_200, 253_402_300_799)
        var time = time_t(min(max(seconds, year0), year9999))
        var date = unsafe tm()
        unsafe gmtime_r(&time, &date)
        return unsafe [(date.tm_year + 1900).digits(4), (date.tm_mon + 1).digits(2), date.tm_mday.digits(2)]
            .joined(separator: "-")
    }

    /// Returns a number with thousands separated by commas: "4,812".
    package static func grouped(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        let groups = stride(from: digits.count, to: 0, by: -3).map { String(digits[max(0, $0 - 3)..<$0]) }
        return (number < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
    }

    /// Returns a size with one decimal, truncated: "3.1 MiB"; whole bytes below 1 KiB.
    static func size(bytes: Int) -> String {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
        guard let (unit, name) = units.first(where: { bytes >= $0.0 }) else { return "\(bytes) B" }
        return "\(bytes / unit).\(bytes % unit * 10 / unit) \(name)"
    }

    /// Returns a share, truncated so that 100 % means all: "96.4 %"; nil if the whole is not positive.
    static func percent(_ part: Int, of whole: Int) -> String? {
        guard whole > 0 else { return nil }
        let permille = part / whole * 1000 + part % whole * 1000 / whole
        return "\(permille / 10).\(permille % 10) %"
    }

    /// Formats a share of 0...1 in the same way, clamped to that range.
    static func percent(_ share: Double) -> String {
        // 0.57 is slightly less than 57 % in binary, so truncation needs a small correction.
        let permille = Int(min(max(share.isNaN ? 0 : share, 0), 1) * 1000 + 1e-6)
        return "\(permille / 10).\(permille % 10) %"
    }

    /// Returns the counts, the largest first, ties by name, so that the order is stable between calls.
    static func largestFirst(_ counts: [String: Int]) -> [(name: String, count: Int)] {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
    }

    /// Returns the counts as texts "NAME COUNT", the largest first.
    static func words(_ counts: [String: Int]) -> [String] {
        largestFirst(counts).map { "\($0.name) \(grouped($0.count))" }
    }

    /// Pads rows of equal length to aligned columns, separated by two spaces.
    package static func aligned(_ rows: [[String]]) -> [String] {
        let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].columns }.max() ?? 0 }
        return rows.map { row in
            let padded = zip(row, widths).dropLast().map { $0.padded(to: $1) }
            return (padded + row.suffix(1)).joined(separator: "  ")
        }
    }

    /// Formats a line of `status` and the like: a label and a fact.
    static func labelled(_ label: String, _ fact: String) -> String { spaced([label, fact], widths: [9]) }

    /// Pads one row to given column widths, for lists that are rendered in pieces. A longer cell shifts the rest of its
    /// line; cells beyond the last width are not padded.
    static func spaced(_ cells: [String], widths: [Int]) -> String {
        let last = cells.count - 1
        return cells.enumerated().map { column, cell in
            guard column < last, column < widths.count else { return cell }
            return cell.padded(to: widths[column])
        }.joined(separator: "  ")
    }
}

package func counted(_ count: Int, _ one: String, _ many: String) -> String { "\(count) \(count == 1 ? one : many)" }
