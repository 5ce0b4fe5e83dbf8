// The times and questions of the day's clients: a daily curve with a quiet night, queries for both address families at
// once, bursts, a scan of non-existent names, and sleeps of the machine. Steady traffic has none of these.

import Glibc
import TestSupport

struct Traffic {
    struct Visit {
        let at: Int64
        let subjects: [Subject]
        /// The start of the machine's sleep before the visit; nil: none.
        let sleepsAt: Int64?
        /// Whether the popularity of names changes after the visit.
        let drifts: Bool
    }

    private var left: Int
    private let isSteady: Bool
    private let queriesPerMillisecond: Double
    private let length: Double
    private let scan: Range<Double>
    /// The starts of the sleeps in milliseconds awake, earliest last.
    private var sleeps: [Double]
    /// The milliseconds awake since the day began.
    private var awake = 0.0
    private var asleep: Int64 = 0
    private var invented = 0
    private var driftAt = 0.0

    static let sleepMilliseconds: Int64 = 3_600_000
    private static let sleepCount = 3
    /// Queries per visit, as drawn below: 60 % of visits ask for both families.
    private static let queriesPerVisit = 1.6
    private static let oneBurstIn = 200
    private static let driftEveryMilliseconds = 2000.0

    init(_ plan: Day.Plan, random: inout SeededRandom) {
        left = plan.queries
        isSteady = plan.isSteady
        queriesPerMillisecond = plan.queriesPerSecond / 1000
        length = Double(plan.lengthMilliseconds)
        let scanStart = length * .random(in: 0.3...0.8, using: &random)
        scan = scanStart..<(scanStart + length / 100)
        sleeps = (0..<(isSteady ? 0 : Traffic.sleepCount)).map { _ in Double.random(in: 0.1...0.9, using: &random) }
            .sorted(by: >)
        for index in sleeps.indices { sleeps[index] *= length }
    }

    /// The next visit; nil after the last query of the day.
    mutating func next(_ world: World, random: inout SeededRandom) -> Visit? {
        guard left > 0 else { return nil }
        awake += -log(Double.random(in: .leastNonzeroMagnitude..<1, using: &random)) / visitsPerMillisecond
        var sleepsAt: Int64?
        if let sleep = sleeps.last, sleep <= awake {
            sleeps.removeLast()
            sleepsAt = Int64(sleep) + asleep
            asleep += Traffic.sleepMilliseconds
        }
        let drifts = !isSteady && awake >= driftAt
        if drifts { driftAt += Traffic.driftEveryMilliseconds }
        let subjects = subjects(world, random: &random)
        left -= subjects.count
        return Visit(at: Int64(awake) + asleep, subjects: subjects, sleepsAt: sleepsAt, drifts: drifts)
    }

    /// The visits per millisecond: a tenth of the mean at night, 1.9 times the mean in the afternoon. The rate stays
    /// constant after the end of the day.
    private var visitsPerMillisecond: Double {
        guard !isSteady else { return queriesPerMillisecond }
        return queriesPerMillisecond / Traffic.queriesPerVisit * (1 - 0.9 * cos(2 * .pi * min(awake / length, 0.75)))
    }

    private mutating func subjects(_ world: World, random: inout SeededRandom) -> [Subject] {
        if isSteady { return [Subject(.site, world.popularSite(random: &random) * 2)] }
        if scan.contains(awake), Bool.random(using: &random) {
            invented += 1
            return [Subject(.invented, invented)]
        }
        let site = world.popularSite(random: &random)
        let both = [Subject(.site, site * 2), Subject(.site, site * 2 + 1)]
        if Int.random(in: 0..<Traffic.oneBurstIn, using: &random) == 0 { return both + both + both }
        return Int.random(in: 0..<10, using: &random) < 6 ? both : [both[0]]
    }
}
