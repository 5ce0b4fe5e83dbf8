// Whether each of the latest requests to an upstream succeeded.

struct LatestResults {
    /// One bit per request, set for a success. The latest request is the lowest bit.
    private var successes: UInt64 = 0
    private var count = 0

    mutating func add(isSuccess: Bool) {
        successes = successes << 1 | (isSuccess ? 1 : 0)
        count = min(count + 1, successes.bitWidth)
    }

    /// Share of successes among the last 64 requests, 0...1; nil before the first.
    var share: Double? { count > 0 ? Double(successes.nonzeroBitCount) / Double(count) : nil }
}
