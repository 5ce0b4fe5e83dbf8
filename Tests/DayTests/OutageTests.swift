// Outages of many kinds on the virtual clock: names in use neither wait nor fail, as `scripts/bench outages` measures
// with real servers.

import Resolver
import TestSupport
import Testing

@Suite("Outages")
struct OutageTests {
    struct Outage: CustomTestStringConvertible, Sendable {
        let name: String
        let trouble: DayUpstream.Trouble
        var queriesPerSecond = 150.0
        var testDescription: String { name }
    }

    private static let outages = [
        Outage(name: "502", trouble: .failing(.status)), Outage(name: "SERVFAIL", trouble: .failing(.server)),
        Outage(name: "429", trouble: .failing(.throttled)), Outage(name: "resets", trouble: .failing(.reset)),
        Outage(name: "slow", trouble: .slow(10)), Outage(name: "silent", trouble: .silent),
        Outage(name: "silent, few clients", trouble: .silent, queriesPerSecond: 40),
    ]
    private static let start: Int64 = 60_000
    private static let end: Int64 = 80_000
    private static let mostSlowPercent = 0.6
    private static let returnMilliseconds: Int64 = 1000

    @Test("names in use neither wait nor fail during an outage", arguments: outages)
    func outage(_ outage: Outage) throws {
        for seed in 1...(testSetting("OUTAGE_SEEDS") ?? 3) { try play(outage, seed: seed) }
    }

    private func play(_ outage: Outage, seed: UInt64) throws {
        let world = World.Plan(siteCount: 2000, zipfExponent: 1, domainCount: 100, hasGaps: false) { 5 + 55 * $0 }
        let plan = Day.Plan(
            seed: seed, queries: Int(outage.queriesPerSecond * 120), queriesPerSecond: outage.queriesPerSecond,
            isSteady: true, world: world)
        let spell = DayUpstream.Spell(from: OutageTests.start, to: OutageTests.end, trouble: outage.trouble)
        let upstreams = [(30.0, [spell]), (120, [])].map {
            DayUpstream(
                DayUpstream.Manners(medianMilliseconds: $0, countsDown: false, perSecond: nil, isNoisy: false),
                spells: $1)
        }
        var day = Day(plan, upstreams: upstreams)
        do { try day.run() } catch { Issue.record("seed \(seed): \(error)") }
        let account = day.account
        let slowPercent = 100 * Double(account.slowRepeats) / Double(account.repeated)
        #expect(slowPercent <= OutageTests.mostSlowPercent, "seed \(seed)")
        #expect(account.failures.isEmpty, "seed \(seed)")
        #expect(account.lastExpiredAt.map { $0 <= OutageTests.end + OutageTests.returnMilliseconds } ?? true)
        #expect(account.needless.isEmpty, "seed \(seed)")
    }
}
