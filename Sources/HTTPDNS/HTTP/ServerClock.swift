// The offset of a provider's clock, learned from its replies and used to date signatures. With it, a machine with a
// wrong clock can still resolve the names of its time servers. Reads no clock.

package import DNSWire
import Glibc

package struct ServerClock: Equatable, Sendable {
    /// How far the provider's clock is ahead of this machine's, in milliseconds; 0 until a reply shows otherwise.
    package private(set) var offsetMilliseconds: Int64 = 0
    /// This machine's time when a reply last stated the provider's, in milliseconds since 1970.
    private var toldAt: Int64?
    /// The day that a `Date` header last stated.
    private var day: HTTPDate.Day?

    /// The largest difference that is ignored: the `Date` header has whole seconds and is some time old.
    static let toleranceMilliseconds: Int64 = 2000
    /// Time within which this machine's clock is not expected to drift by more than the tolerance, unless it is set.
    static let knownMilliseconds: Int64 = 3_600_000

    package init() {}

    package static func == (left: ServerClock, right: ServerClock) -> Bool {
        left.offsetMilliseconds == right.offsetMilliseconds
    }

    /// Learns from the `Date` header. If it is absent or unreadable, learns from the body if the dialect finds a time
    /// there.
    ///
    /// - Parameter wallMilliseconds: this machine's time at the reply's arrival, in milliseconds since 1970.
    /// - Returns: true if a request dated with the old offset should be retried.
    @discardableResult
    package mutating func learn(from reply: HTTPReply, in dialect: any Dialect, wallMilliseconds: Int64) -> Bool {
        if let header = reply.headers.value(of: "date"), let date = HTTPDate(header, &day) {
            return learn(date.unixSeconds, wallMilliseconds: wallMilliseconds)
        }
        return learn(dialect.unixSeconds(in: reply.body), wallMilliseconds: wallMilliseconds)
    }

    private mutating func learn(_ unixSeconds: Int64?, wallMilliseconds: Int64) -> Bool {
        guard let unixSeconds, HTTPDate.seconds.contains(unixSeconds) else { return false }
        toldAt = wallMilliseconds
        let offset = unixSeconds * 1000 - wallMilliseconds
        guard abs(offset - offsetMilliseconds) > ServerClock.toleranceMilliseconds else { return false }
        offsetMilliseconds = abs(offset) > ServerClock.toleranceMilliseconds ? offset : 0
        return true
    }

    /// Returns true if a request dated with the other clock should be retried with this one.
    package func differs(from other: ServerClock) -> Bool {
        abs(offsetMilliseconds - other.offsetMilliseconds) > ServerClock.toleranceMilliseconds
    }

    /// Returns true if a reply has stated the provider's time within the last hour, and this machine's clock was not
    /// set back since.
    package func isKnown(wallMilliseconds: Int64) -> Bool {
        toldAt.map { (0..<ServerClock.knownMilliseconds).contains(wallMilliseconds - $0) } ?? false
    }

    /// Returns the provider's time in milliseconds since 1970.
    package func now(wallMilliseconds: Int64) -> Int64 { wallMilliseconds + offsetMilliseconds }
}

/// A date in the preferred form of RFC 9110 section 5.6.7, such as "Sun, 06 Nov 1994 08:49:37 GMT". Servers no longer
/// send other forms.
package struct HTTPDate: Equatable, Sendable, CustomStringConvertible {
    package let unixSeconds: Int64

    /// The seconds of the years 1970 to 9999.
    static let seconds: Range<Int64> = 0..<253_402_300_800
    private static let months = "JanFebMarAprMayJunJulAugSepOctNovDec"

    package init(unixSeconds: Int64) {
        self.unixSeconds = unixSeconds
    }

    /// Parses a date; nil for any other form and for days that do not exist. Does not check the weekday.
    package init?(_ text: Span<UInt8>) {
        var day: Day?
        self.init(text, &day)
    }

    /// - Parameter day: the day of the date before, which mostly is this one's, too.
    init?(_ text: Span<UInt8>, _ day: inout Day?) {
        guard text.count == 29, text[16] == 0x20, text[19] == UInt8(ascii: ":"), text[22] == UInt8(ascii: ":"),
            text[25] == 0x20, text[26] == UInt8(ascii: "G"), text[27] == UInt8(ascii: "M"),
            text[28] == UInt8(ascii: "T"), let hour = HTTPDate.number(text, 17..<19),
            let minute = HTTPDate.number(text, 20..<22), let second = HTTPDate.number(text, 23..<25)
        else { return nil }
        if day?.isDay(of: text) != true { day = Day(text) }
        // 60 is a leap second.
        guard let day, hour < 24, minute < 60, second <= 60 else { return nil }
        unixSeconds = day.unixSeconds + hour * 3600 + minute * 60 + second
    }

    /// The day of a date, such as "Sun, 06 Nov 1994".
    struct Day: Sendable {
        /// When the day began.
        fileprivate let unixSeconds: Int64
        /// The 16 bytes of the day's text.
        private let halves: (UInt64, UInt64)

        fileprivate init?(_ text: Span<UInt8>) {
            guard text[4] == 0x20, text[7] == 0x20, text[11] == 0x20, let day = HTTPDate.number(text, 5..<7),
                let month = HTTPDate.month(text.extracting(8..<11)), let year = HTTPDate.number(text, 12..<16)
            else { return nil }
            var time = unsafe tm()
            unsafe (time.tm_mday, time.tm_mon, time.tm_year) = (Int32(day), Int32(month), Int32(year) - 1900)
            unixSeconds = Int64(unsafe timegm(&time))
            // A day that does not exist becomes one of another month.
            guard unsafe time.tm_mday == day, unixSeconds >= 0 else { return nil }
            halves = Day.halves(of: text)
        }

        fileprivate func isDay(of text: Span<UInt8>) -> Bool { halves == Day.halves(of: text) }

        private static func halves(of text: Span<UInt8>) -> (UInt64, UInt64) {
            let (first, second) = unsafe (
                text.bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self),
                text.bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self)
            )
            return (first, second)
        }
    }

    /// Returns 0 for January.
    private static func month(_ text: Span<UInt8>) -> Int64? {
        let (months, letters) = (HTTPDate.months.utf8.span, (text[0], text[1], text[2]))
        for month in 0..<12 where (months[3 * month], months[3 * month + 1], months[3 * month + 2]) == letters {
            return Int64(month)
        }
        return nil
    }

    private static func number(_ text: Span<UInt8>, _ range: Range<Int>) -> Int64? {
        var number: Int64 = 0
        for index in range {
            guard text[index].isDigit else { return nil }
            number = 10 * number + Int64(text[index] - UInt8(ascii: "0"))
        }
        return number
    }

    /// The date in HTTP form.
    package var description: String {
        var seconds = time_t(unixSeconds)
        var time = unsafe tm()
        unsafe gmtime_r(&seconds, &time)
        return unsafe String(unsafeUninitializedCapacity: 64) { buffer in
            unsafe strftime(UnsafeMutableRawPointer(buffer.baseAddress), 64, "%a, %d %b %Y %H:%M:%S GMT", &time)
        }
    }
}
