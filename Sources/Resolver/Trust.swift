// How far a source's answers can be trusted: the registrable domains for which certificates of late have shown them to
// be true or forged.

import DNSWire
import PublicSuffix

struct Trust {
    private var truths = CountedDomains()
    private var falsehoods = CountedDomains()

    /// Counts beside what was shown, so that no source is judged by one domain alone.
    private static let presumedTruths = 2.0
    /// A forged address weighs more than a true one: most names that a forger hands out are true.
    private static let weightOfFalsehood = 4.0
    /// Below, a source is not believed as long as there is another one.
    private static let believedFrom = 0.5
    /// One site, or one owner of a few names, must not discredit a source: a broken certificate looks like a forgery.
    private static let domainsToLose = 3
    /// Milliseconds that a client is taken to lose by a source that is not believed: more than any provider takes, so
    /// that it is asked last.
    private static let costOfMistrust = 2000.0
    /// The same for one that is believed again, for the part of it that is missing: others of its kind go first.
    private static let costOfDoubt = 100.0

    /// From 0 to 1; 1 for a source that has forged nothing. At least `believedFrom` until three registrable domains
    /// were forged within an hour.
    func share(_ now: Instant) -> Double {
        let good = truths.value(now) + Trust.presumedTruths
        let share = good / (good + falsehoods.value(now) * Trust.weightOfFalsehood)
        return falsehoods.distinctDomains(now) < Trust.domainsToLose ? max(share, Trust.believedFrom) : share
    }

    func isLost(_ now: Instant) -> Bool { share(now) < Trust.believedFrom }

    /// To be added to the milliseconds that an answer is expected to take.
    func cost(_ now: Instant) -> Double {
        isLost(now) ? Trust.costOfMistrust : (1 - share(now)) * Trust.costOfDoubt
    }

    mutating func toldTruth(about name: Name, now: Instant) { truths.add(name, now: now) }
    mutating func toldFalsehood(about name: Name, now: Instant) { falsehoods.add(name, now: now) }
}

/// A decaying count of registrable domains, each counted once per hour.
struct CountedDomains {
    private var count = FadingCount(memory: CountedDomains.memory)
    /// When each was counted last, at most `Bounds.maxCountedDomains`.
    private var countedAt: [Name: Instant] = [:]
    /// Domains that made room for others within their hour, and may count again in it.
    private(set) var evictions: UInt64 = 0

    /// A source that was misled for a while, and is not any more, is itself again in about so long.
    private static let memory: Duration = .seconds(300)
    static let pause: Duration = .seconds(3600)

    mutating func add(_ name: Name, now: Instant) {
        let domain = name.registrableDomain
        if let last = countedAt[domain], now - last < CountedDomains.pause { return }
        if countedAt[domain] == nil, countedAt.count >= Bounds.maxCountedDomains { makeRoom(now) }
        countedAt[domain] = now
        count.add(1, now: now)
    }

    func value(_ now: Instant) -> Double { count.value(now) }

    func distinctDomains(_ now: Instant) -> Int { countedAt.values.count { now - $0 < CountedDomains.pause } }

    private mutating func makeRoom(_ now: Instant) {
        countedAt = countedAt.filter { now - $0.value < CountedDomains.pause }
        guard countedAt.count >= Bounds.maxCountedDomains,
            let oldest = countedAt.min(by: { ($0.value, $0.key.description) < ($1.value, $1.key.description) })
        else { return }
        countedAt[oldest.key] = nil
        evictions += 1
    }
}
