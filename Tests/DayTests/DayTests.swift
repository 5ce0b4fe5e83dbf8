// The simulated day: a short one in every test run, the whole one by scripts/bench day.

import Glibc
import Testing

@Suite("Day")
struct DayTests {
    @Test("on no simulated day is an answer wrong, too old, or expired without need")
    func day() throws {
        let seed = DayTests.setting("DAY_SEED") ?? 1
        var day = Day(Day.Plan(seed: seed, queries: Int(DayTests.setting("DAY_QUERIES") ?? 20_000)))
        let start = ContinuousClock.now
        do { try day.run() } catch { Issue.record("seed \(seed): \(error)") }
        let elapsed = start.duration(to: .now)
        print(DayFigures(day.account, day.counts, elapsed, seed))
        #expect(day.account.needless.isEmpty, "seed \(seed)")
        if let most = DayTests.setting("DAY_MOST_SECONDS") {
            #expect(elapsed <= .seconds(Int64(most)), "seed \(seed)")
        }
    }

    private static func setting(_ name: String) -> UInt64? {
        unsafe getenv(name).flatMap { unsafe UInt64(String(cString: $0)) }
    }
}
