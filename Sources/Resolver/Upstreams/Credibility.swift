// Credibility of a source: counts the registrable domains for which certificates recently showed its answers to be true
// or forged.

import DNSWire
import PublicSuffix

struct Credibility {
    private var truths = CountedDomains()
    private var falsehoods = CountedDomains()

    /// Prior number of true domains, so that one domain alone does not decide.
    private static let presumedTruths = 2.0
    /// A forged address weighs more than a true one: most names that a forger hands out are true.
    private static let weightOfFalsehood = 4.0
    /// A source with a lower share is not trusted while another source is available.
    private static let believedFrom = 0.5
    /// Minimum number of forged domains. One site, or one owner of a few names, must not discredit a source: a broken
    /// certificate looks like a forgery.
    private static let domainsToLose = 3
    /// Ranking penalty in milliseconds of a source that is not believed: more than any provider takes, so that it is
    /// asked last.
    private static let costOfMistrust = 2000.0
    /// Ranking penalty in milliseconds per missing share of a source that is believed again, so that other sources go
    /// first.
    private static let costOfDoubt = 100.0

    /// The share of true answers, from 0 to 1; 1 for a source that has forged nothing. At least `believedFrom` until
    /// three registrable domains were forged within an hour.
    func share(_ now: Instant) -> Double {
        // Most sources have forged nothing.
        guard !falsehoods.isEmpty else { return 1 }
        let good = truths.value(now) + Credibility.presumedTruths
        let share = good / (good + falsehoods.value(now) * Credibility.weightOfFalsehood)
        return falsehoods.distinctDomains(now) < Credibility.domainsToLose
            ? max(share, Credibility.believedFrom) : share
    }

    func isLost(_ now: Instant) -> Bool { share(now) < Credibility.believedFrom }

    /// Penalty to add to the expected answer time, in milliseconds.
    func cost(_ now: Instant) -> Double {
        isLost(now) ? Credibility.costOfMistrust : (1 - share(now)) * Credibility.costOfDoubt
    }

    mutating func recordConfirmed(about name: Name, now: Instant) { truths.add(name, now: now) }
    mutating func recordForged(about name: Name, now: Instant) { falsehoods.add(name, now: now) }
}

/// A decaying count of registrable domains, each counted once per hour.
struct CountedDomains {
    private var count = DecayingCount(memory: CountedDomains.memory)
    /// When each domain was counted last, at most `Bounds.maxCountedDomains`.
    private var countedAt: [Name: Instant] = [:]
    /// Domains evicted within their hour, which may count again in this hour.
    private(set) var evictions: UInt64 = 0

    /// Scores decay with a time constant of 5 minutes.
    private static let memory: Duration = .seconds(300)
    static let pause: Duration = .seconds(3600)

    mutating func add(_ name: Name, now: Instant) {
        let domain = name.registrableDomain
        if let last = countedAt[domain], now - last < CountedDomains.pause { return }
        if countedAt[domain] == nil, countedAt.count >= Bounds.maxCountedDomains { makeRoom(now) }
        countedAt[domain] = now
        count.add(1, now: now)
    }

    var isEmpty: Bool { count.isEmpty }

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
