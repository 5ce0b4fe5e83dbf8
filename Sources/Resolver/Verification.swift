// Everything about verified addresses that the resolver needs, behind one door: who said which addresses of a name,
// what probes found, what is to be probed next, and what follows from it for answers. Decides; opens no socket.

import DNSWire

struct Verification {
    /// What has to follow from what was learned. Taken by the resolver after every event, and carried out in order.
    enum Consequence: Equatable {
        case probe(ProbeID, ProbeTarget)
        case news(ProbeNews)
        /// The cache is to say when it gives this answer for the first time: that is the second ask.
        case awaitAsk(Question, Source)
        /// Of the answer that is kept, as it was kept: same lifetime, other addresses or another order.
        case rearrange(Question, Answer, Source)
        /// The answer that is kept leads nowhere, or to somebody else: others are to be asked, this source not.
        case askElsewhere(Question, besides: Source)
        case diverged(Divergence)
        /// Somebody led to an address that is the name's own.
        case toldTruth(Source)
    }

    private var consequences: [Consequence] = []

    /// - Parameter seed: spreads probes in time, and shuffles addresses that are about as quick.
    init(seed: UInt64) {}

    /// When `timePassed` is due; nil when nothing waits for time.
    var nextDeadline: Instant? { nil }

    var counts: ProbeCounts { ProbeCounts() }

    /// A client has asked what the cache could not answer.
    mutating func asked(_ question: Question, now: Instant) {}

    /// The cache has given the answer for the first time since `awaitAsk`.
    mutating func givenAgain(_ question: Question, now: Instant) {}

    /// An answer is kept, or would be if it had a lifetime.
    ///
    /// - Parameters:
    ///   - answer: all of it, before anything was taken out by `arranged`.
    ///   - isInUse: asked for more than once, as a refresh's question is.
    ///   - isDoubted: a source that stands in for the proper one.
    mutating func kept(
        _ question: Question, _ answer: Answer, from source: Source, _ terms: ProbeTerms, isInUse: Bool,
        isDoubted: Bool, now: Instant
    ) {}

    /// A provider has said this beside a lookup: it is not kept, and judged all the same.
    mutating func heard(
        _ question: Question, _ answer: Answer, from source: Source, _ terms: ProbeTerms, now: Instant
    ) {}

    /// All who could be asked for it have answered, and none knew better: what there is is handed out, and nobody is
    /// asked again for a while.
    mutating func noneBetter(_ question: Question, now: Instant) {}

    /// An operator or a program wants to know now.
    ///
    /// - Parameter address: nil: all that answers for the name led to.
    mutating func wanted(_ name: Name, _ address: Address?, _ terms: ProbeTerms, now: Instant) {}

    /// A probe that is not known any more is counted, and changes nothing.
    mutating func probeFinished(_ id: ProbeID, _ result: ProbeResult, now: Instant) {}

    /// What is kept in the cache of these goes, and with it what could be rearranged. Verdicts stay.
    mutating func forgotten(_ scope: QuestionScope) {}

    mutating func timePassed(now: Instant) {}

    mutating func takeConsequences() -> [Consequence] {
        defer { consequences = [] }
        return consequences
    }

    /// Every address in it is condemned or dead, and somebody may know better.
    func isUseless(_ question: Question, _ answer: Answer, now: Instant) -> Bool { false }

    /// As it is to be handed out: addresses ordered, those condemned or dead left out, address hints of HTTPS and SVCB
    /// records cut to what is handed out. The same answer where nothing is known.
    mutating func arranged(_ question: Question, _ answer: Answer, now: Instant) -> Answer { answer }

    /// Of one name, in the order of its answers; those in no answer last.
    func judged(_ name: Name) -> [JudgedAddress] { [] }

    /// Names of which something is known, in the order of their text.
    var names: [Name] { [] }
}
