// Lengths of time. The standard library's Duration has sixteen bytes and a resolution that nothing here needs; its
// arithmetic on 128 bits is a tenth of what a cache miss costs.

/// A signed number of nanoseconds, up to 292 years. It has the name and the interface of the standard library's type,
/// and replaces it in every file that imports this module. Arithmetic stops at the ends of the range.
package struct Duration: Hashable, Sendable {
    package let nanoseconds: Int64

    private init(_ nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static let zero = Duration(0)

    // A generic count would be converted at run time, which costs more than the arithmetic.

    package static func seconds(_ count: Int) -> Duration {
        Duration(Int64(count).multipliedClamped(by: 1_000_000_000))
    }

    package static func seconds(_ count: Int64) -> Duration { seconds(Int(count)) }

    package static func seconds(_ count: UInt32) -> Duration { seconds(Int(count)) }

    package static func milliseconds(_ count: Int) -> Duration {
        Duration(Int64(count).multipliedClamped(by: 1_000_000))
    }

    package static func milliseconds(_ count: Int64) -> Duration { milliseconds(Int(count)) }

    package static func microseconds(_ count: Int) -> Duration { Duration(Int64(count).multipliedClamped(by: 1000)) }

    package static func microseconds(_ count: Int64) -> Duration { microseconds(Int(count)) }

    package static func nanoseconds(_ count: Int) -> Duration { Duration(Int64(count)) }

    package static func nanoseconds(_ count: Int64) -> Duration { Duration(count) }

    /// Rounds to whole nanoseconds.
    package static func seconds(_ count: Double) -> Duration { Duration(clamping: count * 1e9) }

    package static func milliseconds(_ count: Double) -> Duration { Duration(clamping: count * 1e6) }

    private init(clamping nanoseconds: Double) {
        // 2^63 is the first value that Int64 does not have.
        guard nanoseconds.magnitude < 0x1p63 else {
            self.init(nanoseconds < 0 ? .min : .max)
            return
        }
        self.init(Int64(nanoseconds.rounded()))
    }

    package var seconds: Double { Double(nanoseconds) / 1e9 }

    /// Whole seconds, rounded toward zero.
    package var wholeSeconds: Int64 { nanoseconds / 1_000_000_000 }

    /// Whole seconds as in a TTL; none for a negative time.
    package var unsignedSeconds: UInt32 { UInt32(clamping: wholeSeconds) }

    /// Whole milliseconds, rounded toward zero.
    package var wholeMilliseconds: Int { Int(nanoseconds / 1_000_000) }

    /// Whole microseconds, rounded toward zero.
    package var wholeMicroseconds: Int { Int(nanoseconds / 1000) }
}

extension Duration: Comparable {
    package static func < (left: Duration, right: Duration) -> Bool { left.nanoseconds < right.nanoseconds }
}

extension Duration: AdditiveArithmetic {
    package static func + (left: Duration, right: Duration) -> Duration {
        Duration(left.nanoseconds.addingClamped(right.nanoseconds))
    }

    package static func - (left: Duration, right: Duration) -> Duration {
        Duration(left.nanoseconds.subtractingClamped(right.nanoseconds))
    }

    package static prefix func - (duration: Duration) -> Duration { .zero - duration }

    package static func * (duration: Duration, factor: Int) -> Duration {
        Duration(duration.nanoseconds.multipliedClamped(by: Int64(factor)))
    }

    package static func * (duration: Duration, factor: Double) -> Duration {
        Duration(clamping: Double(duration.nanoseconds) * factor)
    }

    /// Returns the quotient, rounded toward zero.
    package static func / (duration: Duration, divisor: Int) -> Duration {
        Duration(duration.nanoseconds / Int64(divisor))
    }

    package static func / (left: Duration, right: Duration) -> Double {
        Double(left.nanoseconds) / Double(right.nanoseconds)
    }
}

extension Duration: CustomStringConvertible {
    package var description: String { "\(seconds) seconds" }
}

extension Int64 {
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? (other < 0 ? .min : .max) : sum
    }

    func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflows) = subtractingReportingOverflow(other)
        return overflows ? (other < 0 ? .max : .min) : difference
    }

    func multipliedClamped(by other: Int64) -> Int64 {
        let (product, overflows) = multipliedReportingOverflow(by: other)
        return overflows ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}
