// The offset of a provider's clock, learned from its replies and used to date signatures. With it, a machine with a
// wrong clock can still resolve the names of its time servers. Reads no clock.

package import DNSWire
import Glibc

package struct ServerClock: Equatable, Sendable {
    /// How far the provider's clock is ahead of this machine's, in milliseconds; 0 until a reply shows otherwise.
    package private(set) var offsetMilliseconds: Int64 = 0
    /// This machine's time when a reply last stated the provider's, in milliseconds since 1970.
    private var toldAt: Int64?
    /// The last header and its date: a provider sends the same header for a whole second.
    private var lastDate: (header: ArraySlice<UInt8>, date: HTTPDate?)?

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
        if let header = reply.headers.value(of: "Date") {
            if lastDate?.header != header { lastDate = (header, HTTPDate(String(decoding: header, as: UTF8.self))) }
            if let date = lastDate?.date { return learn(date.unixSeconds, wallMilliseconds: wallMilliseconds) }
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
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    package init(unixSeconds: Int64) {
        self.unixSeconds = unixSeconds
    }

    /// Parses a date; nil for any other form and for days that do not exist. Does not check the weekday.
    package init?(_ text: String) {
        let fields = text.split { $0 == " " || $0 == ":" }
        guard fields.count == 8, fields[0].count == 4, let day = Int32(fields[1]), let year = Int32(fields[3]),
            let month = HTTPDate.months.firstIndex(of: String(fields[2])), (1970...9999).contains(year)
        else { return nil }
        let clock = fields[4...6].compactMap { Int32($0) }
        guard clock.count == 3 else { return nil }
        var time = unsafe tm()
        unsafe (time.tm_year, time.tm_mon, time.tm_mday) = (year - 1900, Int32(month), day)
        // 60 is a leap second.
        let isLeapSecond = clock[2] == 60
        unsafe (time.tm_hour, time.tm_min, time.tm_sec) = (clock[0], clock[1], isLeapSecond ? 59 : clock[2])
        let date = HTTPDate(unixSeconds: Int64(unsafe timegm(&time)))
        // timegm(3) also accepts dates such as 31 February.
        let form = isLeapSecond ? text.replacing(":60 GMT", with: ":59 GMT") : text
        guard date.description.dropFirst(4) == form.dropFirst(4) else { return nil }
        self.init(unixSeconds: date.unixSeconds + (isLeapSecond ? 1 : 0))
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
