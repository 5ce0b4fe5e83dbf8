// Estimates the query rate of a question. Stored outside the cache, so that eviction or expiry of an entry does not
// lose it.

import DNSWire

struct Demand: Equatable {
    /// Both values decay with the same half-life, so that their quotient is a recent rate.
    private var asks: Double
    private var seconds: Double
    private var countedAt: Instant

    /// Creates the estimate at the first query.
    init(now: Instant) {
        asks = 1
        seconds = 0
        countedAt = now
    }

    /// Restores an estimate from an earlier run of the daemon.
    init(perSecond: Double, now: Instant) {
        seconds = Demand.memory.seconds
        asks = perSecond * (seconds + Demand.presumedSeconds)
        countedAt = now
    }

    /// Prior for a name asked once: one query per this many seconds plus its age. In simulations of a Zipf trace with
    /// TTLs of 5 to 60 s, a value of 10 s refreshes more names, and 40 s fewer, than are asked again.
    private static let presumedSeconds = 20.0
    /// Observations older than this count less than half: usage of the last hour, not of the day.
    private static let memory: Duration = .seconds(600)

    /// Queries of about the last ten minutes (`memory`), 0 or more.
    var recentQueries: Double { asks }

    /// Queries per second, 0 or more.
    var perSecond: Double { asks / (seconds + Demand.presumedSeconds) }

    /// Queries per second, decayed to the present.
    func perSecond(at now: Instant) -> Double {
        var faded = self
        faded.count(0, now: now)
        return faded.perSecond
    }

    mutating func count(_ more: Int, now: Instant) {
        let elapsed = max(.zero, countedAt.duration(to: now))
        countedAt = max(countedAt, now)
        let decay = Decay.part(after: elapsed, memory: Demand.memory)
        asks = asks * decay + Double(more)
        seconds = (seconds + elapsed.seconds) * decay
    }
}
