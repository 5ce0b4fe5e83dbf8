// The cost of a day: a paid account gets no question for other names, and little more than one question per TTL for its
// own.

import Testing

@testable import Resolver

@Suite("A day with a paid account")
struct AccountDayTests {
    @Test("20 of 2,000 names belong to the account: no other is billed, and at most 1.1 per name, family and TTL")
    func cost() throws {
        var day = AccountDay(seed: 1)
        try day.run()
        let figures = day.figures
        print(
            "a day with a paid account: \(figures.queries) queries, \(figures.billed) billed questions, outside the 20 "
                + "names \(figures.billedOutside.count); per name, family and TTL \(figures.perPeriod), worst "
                + "\(figures.worstPerPeriod); \(figures.publicQuestions) questions to public providers")
        #expect(figures.billedOutside.isEmpty)
        #expect(figures.worstPerPeriod <= 1.1)
        #expect(figures.perPeriod > 0.8, "the account is used")
        #expect(figures.publicQuestions > 0)
    }

    /// With failures, a name is asked for more often than once per TTL: each answer of the system resolver in the
    /// account's place lasts 30 s, and the account's answers that block have a TTL of 60 s here.
    @Test("whatever fails, forges, throttles, refuses or reloads, no other name is billed", arguments: 1...2)
    func troubles(seed: UInt64) throws {
        let troubles = AccountDay.Trouble.allCases
        var day = AccountDay(seed: seed, hours: troubles.count / 3 + 1, troubles: troubles)
        try day.run()
        let figures = day.figures
        print(
            "a day with troubles: \(figures.billed) billed questions, \(figures.billedOverQuota) of them over the "
                + "quota; per name, family and TTL \(figures.perPeriod), worst \(figures.worstPerPeriod)")
        #expect(figures.billedOutside.isEmpty, "\(figures.billedOutside)")
        #expect(figures.billed > 0)
        #expect(figures.perPeriod <= 1.5)
    }
}
