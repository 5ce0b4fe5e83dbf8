// The simulated day: a short one in every test run, the whole one by scripts/bench day.

import Glibc
import TestSupport
import Testing

@Suite("Day")
struct DayTests {
    @Test("on no simulated day is an answer wrong, too old, or expired without need")
    func day() throws {
        let seed = testSetting("DAY_SEED") ?? 1
        var day = Day(Day.Plan(seed: seed, queries: Int(testSetting("DAY_QUERIES") ?? 20_000)))
        let start = clock()
        do { try day.run() } catch { Issue.record("seed \(seed): \(error)") }
        // The test measures processor time, which other processes on the machine do not affect.
        let seconds = Double(clock() - start) / Double(CLOCKS_PER_SEC)
        print(DayFigures(day.account, day.counts, processorSeconds: seconds, seed))
        #expect(day.account.needless.isEmpty, "seed \(seed)")
        if let most = testSetting("DAY_MOST_SECONDS") {
            #expect(seconds <= Double(most), "seed \(seed)")
        }
    }
}
