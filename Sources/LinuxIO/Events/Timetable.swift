// When the parts of an event loop are due. A part tells that its deadline may have changed, so that a turn of the loop
// asks no part that has nothing to do.

package import DNSWire

package protocol TimedPart: AnyObject {
    /// Told of each change of `nextDeadline`.
    var timer: PartTimer { get }
    /// When `timePassed` is due; nil: no deadline.
    var nextDeadline: Instant? { get }
    /// Does what is due. Called once the deadline has passed.
    func timePassed(now: Instant)
}

/// The link from a part to its timetable. A part of a part has the timer of its owner.
package final class PartTimer {
    private var changes: Timetable.Changes?
    private var mark: UInt64 = 0

    package init() {}

    /// Notes that the part's deadline may have changed. It is read later, so it may change any number of times.
    package func changed() { changes?.marks |= mark }

    fileprivate func begin(_ changes: Timetable.Changes, _ place: Int) {
        (self.changes, mark) = (changes, 1 << UInt64(place))
        changed()
    }
}

/// Invariant: `deadlines` has the deadline of each part whose mark is not set, and the last one read of the others.
package final class Timetable {
    fileprivate final class Changes {
        /// A bit for each part.
        var marks: UInt64 = 0
    }

    /// Bound of the parts: the bits of the marks.
    package static let maxParts = UInt64.bitWidth
    /// The deadline of a part that has none.
    private static let never = Int64.max

    private let parts: [any TimedPart]
    /// The deadlines by place, in nanoseconds since boot, which are quick to search.
    private var deadlines: [Int64]
    /// The least of `deadlines`.
    private var earliest = Timetable.never
    private let changes = Changes()

    /// - Parameter parts: at most `maxParts`. Those that are due together have their turn in this order.
    package init(_ parts: [any TimedPart]) {
        precondition(parts.count <= Timetable.maxParts, "a timetable has too many parts")
        self.parts = parts
        deadlines = parts.map { _ in Timetable.never }
        for (place, part) in parts.enumerated() { part.timer.begin(changes, place) }
        readChanged()
    }

    /// The earliest deadline of all parts.
    package var nextDeadline: Instant? {
        readChanged()
        for place in parts.indices {
            assert(
                Timetable.nanoseconds(parts[place].nextDeadline) == deadlines[place],
                "\(type(of: parts[place])) has not told its timer of another deadline")
        }
        return earliest == Timetable.never ? nil : Instant(nanoseconds: earliest)
    }

    /// Calls the parts that are due. Returns at once if no deadline read so far has passed. `nextDeadline` reads those
    /// that have changed since, before the loop sleeps.
    package func timePassed(now: Instant) {
        guard earliest <= now.nanoseconds else { return }
        for place in parts.indices {
            readChanged()
            guard deadlines[place] <= now.nanoseconds else { continue }
            parts[place].timePassed(now: now)
            changes.marks |= 1 << UInt64(place)
        }
    }

    private func readChanged() {
        guard changes.marks != 0 else { return }
        while changes.marks != 0 {
            let place = changes.marks.trailingZeroBitCount
            deadlines[place] = Timetable.nanoseconds(parts[place].nextDeadline)
            // After the reading: a part that reads a value in place seems to change it.
            changes.marks &= ~(1 << UInt64(place))
        }
        earliest = Timetable.never
        for deadline in deadlines where deadline < earliest { earliest = deadline }
    }

    private static func nanoseconds(_ deadline: Instant?) -> Int64 { deadline.map(\.nanoseconds) ?? never }
}
