// How often a question is asked, estimated from what was seen of it. Kept apart from the cache's entries, so that an
// entry's eviction or expiry does not lose it.

struct Demand: Equatable {
    /// Both fade with the same half-life, so that their quotient is a rate of the recent past.
    private var asks: Double
    private var seconds: Double
    private var countedAt: Instant

    /// Asked for the first time.
    init(now: Instant) {
        asks = 1
        seconds = 0
        countedAt = now
    }

    /// As it was estimated in an earlier life of the process.
    init(perSecond: Double, now: Instant) {
        seconds = Demand.memory.seconds
        asks = perSecond * (seconds + Demand.presumedSeconds)
        countedAt = now
    }

    /// A name that was asked once is presumed to be asked once in so many seconds and its age. In simulations of a
    /// Zipf trace with TTLs of 5 to 60 s, 10 refreshes more and 40 fewer than what comes back.
    private static let presumedSeconds = 20.0
    /// What was seen longer ago than this counts for less than half: people's habits of the hour, not of the day.
    private static let memory: Duration = .seconds(600)

    /// Asks per second, from 0 up.
    var perSecond: Double { asks / (seconds + Demand.presumedSeconds) }

    /// The same for one that has not been counted for a while.
    func perSecond(at now: Instant) -> Double {
        var faded = self
        faded.count(0, now: now)
        return faded.perSecond
    }

    mutating func count(_ more: Int, now: Instant) {
        let elapsed = max(.zero, countedAt.duration(to: now))
        countedAt = max(countedAt, now)
        let fading = Fading.part(after: elapsed, memory: Demand.memory)
        asks = asks * fading + Double(more)
        seconds = (seconds + elapsed.seconds) * fading
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
