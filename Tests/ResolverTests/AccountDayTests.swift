// What a day costs: no question for another name reaches a paid account, and its own names cost little more than one
// question per TTL.

import Testing

@testable import Resolver

@Suite("A day with a paid account")
struct AccountDayTests {
    @Test("20 of 2,000 names belong to the account: no other question is billed, and at most 1.1 per name and TTL")
    func cost() throws {
        var day = AccountDay(seed: 1)
        try day.run()
        let figures = day.figures
        print(
            "a day with a paid account: \(figures.queries) queries, \(figures.billed) billed questions, outside the 20 "
                + "names \(figures.billedOutside.count); per name and TTL \(figures.perPeriod), worst name "
                + "\(figures.worstPerPeriod); \(figures.publicQuestions) questions to public providers")
        #expect(figures.billedOutside.isEmpty)
        #expect(figures.worstPerPeriod <= 1.1)
        #expect(figures.perPeriod > 0.8, "the account is used")
        #expect(figures.publicQuestions > 0)
    }

    @Test("whatever fails, hangs, throttles, lies or floods, no question for another name is billed", arguments: 1...2)
    func troubles(seed: UInt64) throws {
        var day = AccountDay(seed: seed, hours: 3, troubles: AccountDay.Trouble.allCases)
        try day.run()
        let figures = day.figures
        print("a day with troubles: \(figures.billed) billed questions; per name and TTL \(figures.perPeriod)")
        #expect(figures.billedOutside.isEmpty, "\(figures.billedOutside)")
        #expect(figures.billed > 0)
    }
}
