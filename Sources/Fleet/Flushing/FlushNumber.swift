// The number of an element of a stream in Redis: milliseconds by Redis's clock, and a count within them.

package struct FlushNumber: Comparable, Sendable {
    package let milliseconds: Int64
    private let count: UInt64

    /// Reads "MILLISECONDS-COUNT"; nil for anything else.
    package init?(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 2, let milliseconds = Int64(parts[0]), milliseconds >= 0, let count = UInt64(parts[1])
        else { return nil }
        (self.milliseconds, self.count) = (milliseconds, count)
    }

    /// The greatest number before this time: elements that are put from this time on have greater numbers.
    init(before time: RedisTime) { (milliseconds, count) = (max(1, time.milliseconds) - 1, .max) }

    package var text: String { "\(milliseconds)-\(count)" }

    package static func < (left: FlushNumber, right: FlushNumber) -> Bool {
        (left.milliseconds, left.count) < (right.milliseconds, right.count)
    }
}
