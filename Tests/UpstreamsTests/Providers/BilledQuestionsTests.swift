// A vendor's billed questions, by day and month, across restarts and clock jumps.

import DNSWire
import Resolver
import Testing

@testable import Upstreams

@Suite("Billed questions")
struct BilledQuestionsTests {
    private static let hour: Int64 = 3_600_000
    /// The time 2026-11-30 12:00 UTC in milliseconds.
    private static let noon: Int64 = 1_796_040_000_000

    private func counted(_ count: Int, at milliseconds: Int64 = noon) -> BilledQuestions {
        var questions = BilledQuestions(unixMilliseconds: milliseconds)
        questions.add(count, .client, unixMilliseconds: milliseconds)
        return questions
    }

    @Test("counts belong to a cause, a day and a month of UTC, and end with them")
    func periods() {
        var questions = counted(3)
        questions.add(2, .refresh, unixMilliseconds: Self.noon + 11 * Self.hour)
        #expect(questions.count(.day, .client) == 3 && questions.count(.day, .refresh) == 2)
        #expect(questions.total(.day) == 5 && questions.total(.month) == 5)
        #expect(BilledQuestions.Period.day.end(after: Self.noon) == Self.noon + 12 * Self.hour)
        #expect(BilledQuestions.Period.month.end(after: Self.noon) == Self.noon + 12 * Self.hour)
        questions.add(1, .hedge, unixMilliseconds: Self.noon + 12 * Self.hour)
        #expect(questions.total(.day) == 1 && questions.total(.month) == 1, "December")
        #expect(
            BilledQuestions.Period.month.end(after: Self.noon + 12 * Self.hour)
                == Self.noon + (12 + 31 * 24) * Self.hour)
        questions.turn(to: Self.noon + 36 * Self.hour)
        #expect(questions.total(.day) == 0 && questions.total(.month) == 1)
    }

    @Test(
        "months have the days of the calendar",
        arguments: [
            (1_709_164_800, 1), (1_709_078_400, 2), (1_740_700_800, 1), (4_107_456_000, 1), (1_767_225_599, 1),
        ])
    func calendar(second: Int64, daysLeft: Int64) {
        // The dates are 2024-02-29 and -28, 2025-02-28, 2100-02-28, 2025-12-31.
        let day = second / 86_400
        #expect(BilledQuestions.Period.month.end(after: second * 1000) == (day + daysLeft) * 86_400_000)
    }

    /// Wrong times: 1970 and 2022, before the clock is set; a day that has ended; and a time a year ahead.
    private static let wrong: [Int64] = [5000, 1_640_995_200_000, noon - 13 * hour, noon + 24 * 365 * hour]

    @Test("a clock that was wrong for a while loses no count, neither its own nor the right period's", arguments: wrong)
    func wrongClock(_ wrong: Int64) {
        var questions = counted(900_000)
        questions.add(1, .client, unixMilliseconds: wrong)
        let isBehind = wrong < Self.noon
        #expect(questions.total(.month) == (isBehind ? 900_001 : 1))
        questions.add(1, .client, unixMilliseconds: Self.noon)
        #expect(questions.total(.day) == 900_002 && questions.total(.month) == 900_002)
        // The counts are stored and read while the clock is wrong again.
        questions.turn(to: wrong)
        var later = BilledQuestions(unixMilliseconds: wrong)
        later.add(1, .refresh, unixMilliseconds: wrong)
        if let kept = BilledQuestions(text: questions.text) { later.add(kept, unixMilliseconds: wrong) }
        later.turn(to: Self.noon + Self.hour)
        #expect(later.total(.day) == 900_003 && later.total(.month) == 900_003)
    }

    @Test("a clock that is set back over the end of a month and passes it again finds both months' counts")
    func twice() {
        let midnight = Self.noon + 12 * Self.hour
        var questions = counted(3)
        questions.add(4, .client, unixMilliseconds: midnight + 1000)
        #expect(questions.total(.day) == 4 && questions.total(.month) == 4)
        questions.add(1, .client, unixMilliseconds: midnight - 1000)
        #expect(questions.total(.day) == 8 && questions.total(.month) == 8)
        questions.turn(to: midnight)
        #expect(questions.total(.day) == 5 && questions.total(.month) == 5)
    }

    @Test("a clock that starts in the past after every boot shows the present period's counts, not those of all")
    func sameWrongStart() {
        let (wrong, day) = (Int64(1_640_995_200_000), 24 * Self.hour)
        var questions = counted(900_000, at: wrong)
        for boot in Int64(0)..<40 {
            questions.add(10, .client, unixMilliseconds: Self.noon + boot * day)
            questions.add(10, .client, unixMilliseconds: Self.noon + boot * day + 7 * Self.hour)
            let (ofDay, ofMonth) = (questions.total(.day), questions.total(.month))
            questions.turn(to: wrong)
            #expect(questions.total(.day) == ofDay && questions.total(.month) == ofMonth && ofDay == 20, "\(boot)")
        }
    }

    @Test("after a first start with a clock that is ahead, periods end as the clock says once it is right")
    func firstStartAhead() {
        var questions = counted(5, at: Self.noon + 24 * 365 * Self.hour)
        questions.turn(to: Self.noon)
        #expect(questions.total(.day) == 5 && questions.total(.month) == 5)
        questions.turn(to: Self.noon + 24 * Self.hour)
        #expect(questions.total(.day) == 0 && questions.total(.month) == 0)
    }

    @Test("a period that the clock showed by mistake does not collect the questions of the time until it comes")
    func onceAhead() throws {
        let year = 365 * 24 * Self.hour
        var questions = counted(3)
        questions.add(4, .client, unixMilliseconds: Self.noon + year)
        questions.add(5, .client, unixMilliseconds: Self.noon)
        questions.turn(to: Self.noon + 6 * Self.hour)
        for day in Int64(0)..<20 {
            // The daemon restarts each day.
            questions = try #require(BilledQuestions(text: questions.text))
            questions.add(500, .client, unixMilliseconds: Self.noon + day * 24 * Self.hour)
            questions.add(500, .client, unixMilliseconds: Self.noon + (day * 24 + 7) * Self.hour)
        }
        questions.add(1, .client, unixMilliseconds: Self.noon + year)
        #expect(questions.total(.day) == 10 && questions.total(.month) == 10)
        questions.add(1, .client, unixMilliseconds: Self.noon + year)
        #expect(questions.total(.month) == 11)
    }

    @Test("a clock that never stops jumping needs no more room than three periods")
    func jumps() {
        var questions = counted(1)
        for day in 1...100 { questions.turn(to: Self.noon + Int64(day * 7919 % 1000) * 24 * Self.hour) }
        #expect(questions.text.split(separator: " ").count == 2 * 3 * 6)
    }

    @Test("the text is read back, and other text is not")
    func text() {
        var questions = counted(3)
        questions.add(7, .measurement, unixMilliseconds: Self.noon)
        #expect(questions.text == "day 20787 3 0 0 7 month 24320 3 0 0 7")
        #expect(BilledQuestions(text: questions.text)?.text == questions.text)
        #expect(BilledQuestions(text: questions.text)?.total(.month) == 10)
        let day = "day 20787 3 0 0 7 "
        for text in [
            "", "x", day, day + "month 24320 3 0 0", questions.text + " 1", "1 " + questions.text,
            questions.text.replacing("3", with: "-3"), questions.text.replacing("7", with: "99999999999999999999"),
            day + day + day + questions.text, questions.text.replacing("day", with: "year"),
            questions.text.replacing("day", with: "day day"), "frozen", "frozen frozen " + questions.text,
            "frozen " + questions.text,
        ] {
            #expect(BilledQuestions(text: text) == nil, "\(text)")
        }
    }

    @Test("a quota's whole range is counted, stored and read")
    func range() {
        var questions = counted(1_000_000_000_000)
        #expect(questions.level(of: .init(1_000_000_000_000, per: .month)) == .usedUp)
        questions.add(.max, .client, unixMilliseconds: Self.noon)
        questions.add(1, .refresh, unixMilliseconds: Self.noon)
        for cause in RequestCause.allCases { questions.add(.max, cause, unixMilliseconds: Self.noon) }
        #expect(BilledQuestions(text: questions.text)?.total(.month) == .max / 4 * 4)
    }

    @Test("counts from before a restart are added if their period has not ended")
    func earlier() {
        for (hours, day, month) in [(Int64(11), 6, 6), (24, 1, 6), (31 * 24, 1, 1)] {
            var questions = counted(1)
            questions.add(counted(5, at: Self.noon - hours * Self.hour), unixMilliseconds: Self.noon)
            #expect(questions.total(.day) == day && questions.total(.month) == month, "\(hours) h")
        }
    }

    @Test("counts from before a restart that come late are added to those of their own periods")
    func late() {
        let (day, night) = (Self.noon + 24 * Self.hour, Self.noon + 38 * Self.hour)
        for addsBefore in [true, false] {
            var questions = counted(5000, at: day)
            if addsBefore { questions.add(7, .client, unixMilliseconds: night) }
            var earlier = counted(100)
            earlier.turn(to: day)
            questions.add(earlier, unixMilliseconds: night)
            let (ofDay, ofMonth) = (addsBefore ? 7 : 0, addsBefore ? 5007 : 5000)
            #expect(questions.total(.day) == ofDay && questions.total(.month) == ofMonth)
            questions.turn(to: day)
            #expect(questions.total(.day) == ofMonth && questions.total(.month) == ofMonth)
        }
    }

    @Test("a clock that is months behind for long after the start loses no count of the right period")
    func longBehind() throws {
        var questions = try #require(BilledQuestions(text: counted(900_000).text))
        let behind = Self.noon - 90 * 24 * Self.hour
        for hour in Int64(0)..<10 { questions.add(1, .client, unixMilliseconds: behind + hour * Self.hour) }
        questions.turn(to: Self.noon)
        #expect(questions.total(.day) == 900_010 && questions.total(.month) == 900_010)
    }

    @Test("a quota is nearly used from 80 % and used up from 100 % on")
    func levels() {
        let levels = [79, 80, 99, 100, 101].map { counted($0).level(of: .init(100, per: .month)) }
        #expect(levels == [.free, .nearlyUsed, .nearlyUsed, .usedUp, .usedUp])
        #expect(counted(1).level(of: .init(1, per: .day)) == .usedUp)
        #expect(counted(0).level(of: .init(1, per: .day)) == .free)
    }
}
