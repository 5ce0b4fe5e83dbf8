// The requests to a member of a fleet, and their outcomes.

package import DNSWire

extension Membership {
    /// A request that the resolver wants to be made.
    package struct Fetch: Sendable {
        package let question: Question
        package let provider: SharedProvider
        /// The answer may be shared.
        package var isShareable = true
        /// No other upstream has an answer: the request waits longer for its turn within the budget.
        package var isLastResort = false
        /// A client waits for the answer.
        package var isForClient = true
        /// The remaining life of the cached answer that a refresh replaces; nil: there is none.
        package var life: Duration?
        /// Queries per second that this member has for the question; nil: unknown.
        package var perSecond: Double?
        /// The rules that the answer has to satisfy, as in `EntryTerms`.
        package var rules: String?

        package init(_ question: Question, at provider: SharedProvider) {
            (self.question, self.provider) = (question, provider)
        }

        var longestTurnWait: Duration { isLastResort ? Pace.maxWaitOfLastResort : Pace.maxWait }
    }

    /// A consequence for the member.
    package enum Outcome: Equatable, Sendable {
        /// The provider is to be asked.
        case ask(ID)
        /// The budget of the fleet is used up until the given time: the request has ended, and is not made.
        case deferred(ID, until: Instant)
        /// Another member's answer. The request has ended.
        case answered(ID, Answer)
        /// Another member's answer that came after the provider was asked.
        case late(ID, Answer)
        /// Queries per second that the other members have for the question.
        case demandElsewhere(Question, perSecond: Double)
        /// The fleet has flushed these answers.
        case flush(QuestionScope)
        /// The text for `restore` after the next start.
        case note(FleetNote, String)
        /// Another member has found that this address is not the name's.
        case evidence(SharedEvidence)
        /// The sum of an account's questions in all members has changed.
        case billed(account: String)
        /// The end of an order to flush; `fault` is nil if Redis has the order.
        case flushOrdered(FlushOrder.ID, fault: String?)
    }
}
