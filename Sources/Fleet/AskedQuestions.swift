// A member's memory of the questions for which it has called Redis.

import DNSWire

struct AskedQuestions: Sendable {
    private struct Entry {
        /// When this member last called Redis for the question.
        var calledAt: Instant?
        /// The member that asked a provider for the answer in use; nil: this member.
        var origin: (member: String, at: Instant)?
        /// By the last reply of Redis, other members have queries for the question.
        var isAskedElsewhere = false
    }

    /// The memory holds up to two generations of this size, and forgets the older one as a whole.
    private static let generationSize = 5000

    private var young: [Question: Entry] = [:]
    private var old: [Question: Entry] = [:]

    /// Estimates this member's queries since its last call for the question, from their rate, and records this call. A
    /// call for a client counts for one query at least.
    mutating func countQueries(_ question: Question, perSecond: Double?, isForClient: Bool, now: Instant) -> Double {
        let calledAt = self[question]?.calledAt
        change(question) { $0.calledAt = now }
        let before = calledAt.map { $0.duration(to: now).seconds * (perSecond ?? 0) } ?? 0
        return isForClient ? max(1, before) : before
    }

    /// Records whether other members have queries for the question.
    ///
    /// - Returns: whether they have some now, or had some by the reply before.
    mutating func updateDemandElsewhere(_ question: Question, demandElsewhere: Double) -> Bool {
        let (isNow, was) = (demandElsewhere > 0, self[question]?.isAskedElsewhere ?? false)
        if isNow != was { change(question) { $0.isAskedElsewhere = isNow } }
        return isNow || was
    }

    mutating func put(_ question: Question, by member: String, at instant: Instant) {
        change(question) { $0.origin = (member, instant) }
    }

    /// This member has asked a provider.
    mutating func answered(_ question: Question) {
        if self[question]?.origin != nil { change(question) { $0.origin = nil } }
    }

    func origin(of question: Question) -> (member: String, at: Instant)? { self[question]?.origin }

    private subscript(_ question: Question) -> Entry? { young[question] ?? old[question] }

    private mutating func change(_ question: Question, _ change: (inout Entry) -> Void) {
        if young[question] == nil {
            if young.count >= AskedQuestions.generationSize { (young, old) = ([:], young) }
            young[question] = old.removeValue(forKey: question)
        }
        change(&young[question, default: Entry()])
    }
}
