// The turns of an event loop's parts, and their times.

import DNSWire
import LinuxIO
import Testing

@Suite("Timetable")
struct TimetableTests {
    private final class Part: TimedPart {
        let timer = PartTimer()
        var nextDeadline: Instant? {
            didSet { timer.changed() }
        }
        /// The work of the part when it is due.
        var work: () -> Void = {}
        private(set) var turns: [Instant] = []

        init(_ nextDeadline: Instant? = nil) { self.nextDeadline = nextDeadline }

        func timePassed(now: Instant) {
            turns.append(now)
            nextDeadline = nil
            work()
        }
    }

    private let start = Instant(nanoseconds: 1_000_000_000)

    @Test("the earliest deadline counts, and only the parts that are due have a turn")
    func earliest() {
        let (early, late, idle) = (Part(start), Part(start + .seconds(1)), Part())
        let timetable = Timetable([late, idle, early])
        #expect(timetable.nextDeadline == start)
        timetable.timePassed(now: start)
        #expect(early.turns == [start] && late.turns.isEmpty && idle.turns.isEmpty)
        #expect(timetable.nextDeadline == start + .seconds(1))
        timetable.timePassed(now: start + .seconds(2))
        #expect(late.turns == [start + .seconds(2)] && timetable.nextDeadline == nil)
    }

    @Test("a deadline may change at any time, also from later to none and back")
    func changes() {
        let part = Part(start + .seconds(5))
        let timetable = Timetable([part])
        part.nextDeadline = nil
        #expect(timetable.nextDeadline == nil)
        part.nextDeadline = .atOnce
        #expect(timetable.nextDeadline == .atOnce)
        timetable.timePassed(now: start)
        #expect(part.turns == [start])
    }

    @Test("a part that another one makes due has its turn at the same time if it comes later, else in the next turn")
    func order() {
        let (first, second, third) = (Part(), Part(start), Part())
        second.work = {
            first.nextDeadline = self.start
            third.nextDeadline = self.start
        }
        let timetable = Timetable([first, second, third])
        timetable.timePassed(now: start)
        #expect(first.turns.isEmpty && third.turns == [start] && timetable.nextDeadline == start)
        timetable.timePassed(now: start)
        #expect(first.turns == [start] && second.turns.count == 1 && third.turns.count == 1)
    }

    @Test("without a part that is due, a changed deadline counts from the next reading on")
    func changedMeanwhile() {
        let (waiting, early) = (Part(start + .seconds(5)), Part())
        let timetable = Timetable([waiting, early])
        early.nextDeadline = start
        timetable.timePassed(now: start)
        #expect(early.turns.isEmpty && timetable.nextDeadline == start)
        timetable.timePassed(now: start)
        #expect(early.turns == [start] && waiting.turns.isEmpty)
    }

    @Test("a part that another one relieves of its deadline has no turn")
    func relieved() {
        let (first, second) = (Part(start), Part(start))
        first.work = { second.nextDeadline = nil }
        Timetable([first, second]).timePassed(now: start)
        #expect(first.turns == [start] && second.turns.isEmpty)
    }

    @Test("the last of the most parts has its turns; without parts there is no deadline")
    func bounds() {
        let parts = (0..<Timetable.maxParts).map { _ in Part() }
        parts[Timetable.maxParts - 1].nextDeadline = start
        let timetable = Timetable(parts)
        timetable.timePassed(now: start)
        #expect(parts.map(\.turns.count).reduce(0, +) == 1 && parts[Timetable.maxParts - 1].turns == [start])
        #expect(Timetable([]).nextDeadline == nil)
    }
}
