// One answer as the file keeps it. A value only: wall time is told, never read.

package import DNSWire

package struct StoredEntry: Equatable, Sendable {
    /// Where the answer came from, as far as trust goes; written out in the file.
    package enum Provenance: String, Hashable, Sendable, CaseIterable {
        case provider, system
    }

    package let question: Question
    /// The number of the network that the answer was learned on.
    package let partition: UInt32
    package let provenance: Provenance
    package let answer: RenderedAnswer
    /// Wall time in milliseconds since 1970, without leap seconds.
    package let storedAtMilliseconds: Int64
    package let lifetimeSeconds: UInt32
    /// Questions per second when it was stored; finite, not negative.
    package let demand: Double

    /// What a clock may show: to the end of the year 9999, so that sums stay far from overflow.
    static let wallMilliseconds: ClosedRange<Int64> = 0...253_402_300_799_999
    /// RFC 8767 section 4 recommends that nothing is kept longer than a week without being asked for anew.
    package static let maxLifetimeSeconds: UInt32 = 7 * 86_400

    /// Numbers out of range are brought to its nearer end; a demand that is no number is none.
    package init(
        question: Question, partition: UInt32, provenance: Provenance, answer: RenderedAnswer,
        storedAtMilliseconds: Int64, lifetimeSeconds: UInt32, demand: Double
    ) {
        let range = StoredEntry.wallMilliseconds
        self.question = question
        self.partition = partition
        self.provenance = provenance
        self.answer = answer
        self.storedAtMilliseconds = min(max(storedAtMilliseconds, range.lowerBound), range.upperBound)
        self.lifetimeSeconds = min(lifetimeSeconds, StoredEntry.maxLifetimeSeconds)
        self.demand = demand.isFinite ? max(demand, 0) : 0
    }

    /// How old the entry is after a restart. Where clocks contradict each other nobody knows how long the daemon was
    /// away; then the entry has just expired, or longer ago if the file shows that: its life never grows.
    ///
    /// - Parameters:
    ///   - nowMilliseconds: wall time.
    ///   - lastWrittenMilliseconds: wall time when the file was last written; nil: never.
    package func ageMilliseconds(nowMilliseconds: Int64, lastWrittenMilliseconds: Int64?) -> Int64 {
        let range = StoredEntry.wallMilliseconds
        let now = min(max(nowMilliseconds, range.lowerBound), range.upperBound)
        let lastWritten = min(max(lastWrittenMilliseconds ?? 0, range.lowerBound), range.upperBound)
        let knownAge = max(now, lastWritten) - storedAtMilliseconds
        let hasRunBackwards = max(storedAtMilliseconds, lastWritten) > now + StoredEntry.clockToleranceMilliseconds
        return max(knownAge, hasRunBackwards ? Int64(lifetimeSeconds) * 1000 : 0)
    }

    /// A clock that is being kept right steps back by less than this.
    private static let clockToleranceMilliseconds: Int64 = 5_000
}
