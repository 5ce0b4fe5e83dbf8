// One answer as stored in the file. The caller supplies wall time.

package import DNSWire

package struct StoredEntry: Equatable, Sendable {
    /// The source of the answer, for its credibility; the raw values are in the file.
    package enum SourceClass: String, Hashable, Sendable, CaseIterable {
        case provider, system
    }

    package let question: Question
    /// The number of the network on which the answer was learned.
    package let partition: UInt32
    package let sourceClass: SourceClass
    package let answer: RenderedAnswer
    /// Wall time in milliseconds since 1970, without leap seconds.
    package let storedAtMilliseconds: Int64
    package let lifetimeSeconds: UInt32
    /// Queries per second at the time of storing; finite, not negative.
    package let demand: Double

    /// Valid wall times, up to the end of the year 9999, so that sums cannot overflow.
    static let wallMilliseconds: ClosedRange<Int64> = 0...253_402_300_799_999
    /// RFC 8767 section 4 recommends a maximum TTL of a week.
    package static let maxLifetimeSeconds: UInt32 = 7 * 86_400

    /// Clamps numbers to their range; a demand of NaN becomes 0.
    package init(
        question: Question, partition: UInt32, sourceClass: SourceClass, answer: RenderedAnswer,
        storedAtMilliseconds: Int64, lifetimeSeconds: UInt32, demand: Double
    ) {
        let range = StoredEntry.wallMilliseconds
        self.question = question
        self.partition = partition
        self.sourceClass = sourceClass
        self.answer = answer
        self.storedAtMilliseconds = min(max(storedAtMilliseconds, range.lowerBound), range.upperBound)
        self.lifetimeSeconds = min(lifetimeSeconds, StoredEntry.maxLifetimeSeconds)
        self.demand = demand.isFinite ? max(demand, 0) : 0
    }

    /// Returns the age after a restart. If the clock was set back, the downtime is unknown. In this case the entry
    /// counts as expired by at least its known age, so its lifetime never grows.
    ///
    /// - Parameters:
    ///   - nowMilliseconds: the present wall time.
    ///   - lastWrittenMilliseconds: the wall time when the file was last written; nil: never.
    package func ageMilliseconds(nowMilliseconds: Int64, lastWrittenMilliseconds: Int64?) -> Int64 {
        let range = StoredEntry.wallMilliseconds
        let now = min(max(nowMilliseconds, range.lowerBound), range.upperBound)
        let lastWritten = min(max(lastWrittenMilliseconds ?? 0, range.lowerBound), range.upperBound)
        let knownAge = max(now, lastWritten) - storedAtMilliseconds
        let hasRunBackwards = max(storedAtMilliseconds, lastWritten) > now + StoredEntry.clockToleranceMilliseconds
        return max(knownAge, hasRunBackwards ? Int64(lifetimeSeconds) * 1000 : 0)
    }

    /// Tolerance for a clock that steps back: a synchronised clock steps back by less than this.
    private static let clockToleranceMilliseconds: Int64 = 5_000
}
