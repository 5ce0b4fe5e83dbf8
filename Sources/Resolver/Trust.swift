// How far a source's word can be trusted: what it said of late, as far as certificates have shown that to be true or
// false.

struct Trust {
    private var truths = FadingCount(memory: Trust.memory)
    private var falsehoods = FadingCount(memory: Trust.memory)

    /// Whoever was misled for a while, and is not any more, is itself again in about so long.
    private static let memory: Duration = .seconds(300)
    /// Counts beside what was shown, so that nobody is judged by one name alone.
    private static let presumedTruths = 2.0
    /// A forged address weighs more than a true one: most names that a forger hands out are true.
    private static let weightOfFalsehood = 4.0
    /// Below, a source is not believed as long as there is another one. One forged address among few true ones.
    private static let believedFrom = 0.5
    /// Milliseconds that a client is taken to lose by a source that is not believed: more than any provider takes, so
    /// that it is asked last.
    private static let costOfMistrust = 2000.0
    /// The same for one that is believed again, for the part of it that is missing: others of its kind go first.
    private static let costOfDoubt = 100.0

    /// From 0 to 1; 1 for whoever was never found out.
    func share(_ now: Instant) -> Double {
        let good = truths.value(now) + Trust.presumedTruths
        return good / (good + falsehoods.value(now) * Trust.weightOfFalsehood)
    }

    func isLost(_ now: Instant) -> Bool { share(now) < Trust.believedFrom }

    /// To be added to the milliseconds that an answer is expected to take.
    func cost(_ now: Instant) -> Double {
        isLost(now) ? Trust.costOfMistrust : (1 - share(now)) * Trust.costOfDoubt
    }

    mutating func toldTruth(now: Instant) { truths.add(1, now: now) }
    mutating func toldFalsehood(now: Instant) { falsehoods.add(1, now: now) }
}
