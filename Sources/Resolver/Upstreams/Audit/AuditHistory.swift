// What was counted about one provider in the last week: by hour for a day, by day before that.

package import DNSWire

/// A number that the audit counts. A name counts at most twice a day in `judged` to `measured`.
package enum AuditCount: Int, CaseIterable, Sendable {
    /// Requests that ended, abandoned ones included.
    case requests
    /// Replies with an answer, and requests that another provider's answer overtook late.
    case replies
    /// The replies that took longer than the usual hedge delay.
    case late
    /// Requests without an answer while another provider replied.
    case failed
    /// Names whose addresses of the provider have a conclusive certificate.
    case judged
    /// Judged names with an address that was mismatched while another source's was verified.
    case forged
    /// Names known to exist for which the provider's answer was compared with another's.
    case compared
    /// Compared names for which the provider had no record.
    case denied
    /// Names whose answer was checked for its age.
    case aged
    /// Aged names with an expired answer.
    case expired
    /// Names whose addresses were reached, and those of another source, too.
    case measured
    /// The sum of the times of `replies` in tenths of a millisecond, and that of their squares.
    case replyTime, replyTimeSquares
    /// The sums of the connection times of `measured` in tenths of a millisecond: the provider's, the others'.
    case ownDistance, otherDistance
    /// Names of `measured` to which the provider's connection was much the slower.
    case farther
}

package struct AuditCounts: Equatable, Sendable {
    private var values = [Int](repeating: 0, count: AuditCount.allCases.count)

    package init() {}

    package subscript(count: AuditCount) -> Int {
        get { values[count.rawValue] }
        set { values[count.rawValue] = newValue }
    }

    static func += (sum: inout AuditCounts, other: AuditCounts) {
        for count in AuditCount.allCases { sum[count] += other[count] }
    }

    /// The numbers with commas between them; 0 is left out.
    fileprivate var text: String { values.map { $0 == 0 ? "" : String($0) }.joined(separator: ",") }

    /// Largest number that is read: a week of requests at the highest rate stays below.
    private static let largest = 1 << 53

    fileprivate init?(text: Substring) {
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        guard words.count == values.count else { return nil }
        for (index, word) in words.enumerated() where !word.isEmpty {
            guard let value = Int(word), 0...AuditCounts.largest ~= value else { return nil }
            values[index] = value
        }
    }
}

/// Invariants: the buckets are in order, each with its own hour, none older than a week. There are at most 24 of the
/// last day, and one of each day before.
package struct AuditHistory: Equatable, Sendable {
    private struct Bucket: Equatable {
        /// The hour since boot; of a day, the last one with a count. Negative for hours before the boot.
        var hour: Int
        var counts = AuditCounts()
    }

    /// A registrable domain about which something bad was counted.
    private struct Witness: Equatable {
        let count: AuditCount
        let domain: Name
        var hour: Int
    }

    private var buckets: [Bucket] = []
    /// The oldest first.
    private var witnesses: [Witness] = []

    package static let hoursOfDay = 24
    package static let hoursOfWeek = 7 * 24
    private static let nanosecondsOfHour: Int64 = 3_600_000_000_000

    package init() {}

    package var isEmpty: Bool { buckets.isEmpty }

    static func hour(_ now: Instant) -> Int { Int(now.nanoseconds / nanosecondsOfHour) }

    @inline(__always)
    mutating func change(now: Instant, _ body: (inout AuditCounts) -> Void) {
        let hour = AuditHistory.hour(now)
        if buckets.last?.hour != hour {
            buckets.append(Bucket(hour: hour))
            tidy(at: hour)
        }
        body(&buckets[buckets.count - 1].counts)
    }

    /// Remembers the domain as one about which this was counted.
    mutating func witness(_ count: AuditCount, _ domain: Name, now: Instant) {
        let hour = AuditHistory.hour(now)
        witnesses.removeAll {
            $0.count == count && $0.domain == domain || $0.hour <= hour - AuditHistory.hoursOfWeek
        }
        if witnesses.count(where: { $0.count == count }) >= Bounds.maxAuditWitnesses,
            let oldest = witnesses.firstIndex(where: { $0.count == count })
        {
            witnesses.remove(at: oldest)
        }
        witnesses.append(Witness(count: count, domain: domain, hour: hour))
    }

    /// Returns the sums of the last hours.
    func sum(ofHours hours: Int, now: Instant) -> AuditCounts {
        let first = AuditHistory.hour(now) - hours
        return buckets.reduce(into: AuditCounts()) { sum, bucket in
            if bucket.hour > first { sum += bucket.counts }
        }
    }

    /// Returns the latest domains about which this was counted in the last hours, at most `Bounds.maxAuditWitnesses`.
    func domains(_ count: AuditCount, ofHours hours: Int, now: Instant) -> [Name] {
        let first = AuditHistory.hour(now) - hours
        return witnesses.filter { $0.count == count && $0.hour > first }.map(\.domain)
    }

    /// Adds what was counted before a restart.
    mutating func add(_ earlier: AuditHistory, now: Instant) {
        for bucket in earlier.buckets {
            if let index = buckets.firstIndex(where: { $0.hour == bucket.hour }) {
                buckets[index].counts += bucket.counts
            } else {
                buckets.append(bucket)
            }
        }
        buckets.sort { $0.hour < $1.hour }
        let own = witnesses
        witnesses = earlier.witnesses.filter { former in
            !own.contains { $0.count == former.count && $0.domain == former.domain }
        }
        for witness in own {
            self.witness(witness.count, witness.domain, now: now)
            witnesses[witnesses.count - 1].hour = witness.hour
        }
        tidy(at: AuditHistory.hour(now))
    }

    /// Drops hours older than a week, and sums those before the last day by day.
    private mutating func tidy(at hour: Int) {
        var kept: [Bucket] = []
        for bucket in buckets where bucket.hour > hour - AuditHistory.hoursOfWeek {
            let isOld = bucket.hour <= hour - AuditHistory.hoursOfDay
            if isOld, let last = kept.last, AuditHistory.day(last.hour) == AuditHistory.day(bucket.hour) {
                kept[kept.count - 1].hour = bucket.hour
                kept[kept.count - 1].counts += bucket.counts
            } else {
                kept.append(bucket)
            }
        }
        buckets = kept
    }

    /// The day of an hour, rounded down also before the boot.
    private static func day(_ hour: Int) -> Int { (hour - (hour < 0 ? hoursOfDay - 1 : 0)) / hoursOfDay }

    // MARK: text

    /// Returns the text for the store: "HOUR:NUMBER,NUMBER,..." for each bucket, then "COUNT:HOUR:DOMAIN" for each
    /// witness, with blanks between them, the latest first. Hours are since 1970.
    ///
    /// - Parameters:
    ///   - wallHour: hours since 1970.
    ///   - maxBytes: the size of the text. What does not fit is left out: a witness, or the oldest days.
    package func text(now: Instant, wallHour: Int, maxBytes: Int) -> String {
        let offset = wallHour - AuditHistory.hour(now)
        let numbers = buckets.reversed().map { "\($0.hour + offset):\($0.counts.text)" }
        let domains = witnesses.reversed().map { "\($0.count.rawValue):\($0.hour + offset):\($0.domain)" }
        return (numbers + domains).reduce(into: "") { text, word in
            guard text.utf8.count + 1 + word.utf8.count <= maxBytes else { return }
            text += text.isEmpty ? word : " " + word
        }
    }

    /// Returns nil for text that `text` cannot have written. Hours that lie in the future, because the clock was wrong,
    /// count as the present one.
    package init?(text: String, now: Instant, wallHour: Int) {
        let present = AuditHistory.hour(now)
        for word in text.split(separator: " ") {
            let parts = word.split(separator: ":", maxSplits: 2)
            guard parts.count >= 2, let first = Int(parts[0]) else { return nil }
            if parts.count == 2 {
                guard let counts = AuditCounts(text: parts[1]) else { return nil }
                let hour = present - max(0, wallHour.subtractingReportingOverflow(first).partialValue)
                if let index = buckets.firstIndex(where: { $0.hour == hour }) {
                    buckets[index].counts += counts
                } else {
                    buckets.append(Bucket(hour: hour, counts: counts))
                }
            } else {
                guard let count = AuditCount(rawValue: first), let hour = Int(parts[1]),
                    let domain = Name(String(parts[2])),
                    witnesses.count(where: { $0.count == count }) < Bounds.maxAuditWitnesses
                else { return nil }
                let age = max(0, wallHour.subtractingReportingOverflow(hour).partialValue)
                witnesses.append(Witness(count: count, domain: domain, hour: present - age))
            }
        }
        witnesses.reverse()
        buckets.sort { $0.hour < $1.hour }
        tidy(at: present)
    }
}
