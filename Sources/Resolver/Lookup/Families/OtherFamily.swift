// The other address family of a question; clients usually ask for both. Some lookups need its answer: DNS64 makes IPv6
// addresses of IPv4 ones, and a rule's `family` prefers one family. The other family's own lookup, which clients share,
// fetches it for an internal waiter.

import DNSWire

extension Question {
    /// This question for the other address family.
    var otherFamily: Question? {
        switch type {
        case .a: with(.aaaa)
        case .aaaa: with(.a)
        default: nil
        }
    }
}

struct OtherFamilyLookups {
    /// Result of the other family's lookup.
    enum Outcome: Equatable {
        case answer(Answer, Source)
        case failed
    }

    /// Questions that need the other family's answer.
    private var needed: [Question] = []
    /// The question that each internal waiter's result is for.
    private var questionOfWaiter: [Waiter: Question] = [:]
    private var lastNumber = UInt64.max

    /// Internal waiters are numbered from the top down, clients from the bottom up. All numbers above this one are
    /// internal.
    private static let lowestNumber = UInt64.max / 2

    mutating func need(_ question: Question) { needed.append(question) }

    mutating func takeNeeded() -> [Question] { exchange(&needed, with: []) }

    /// Returns a new internal waiter for the other family's lookup.
    mutating func newWaiter(for question: Question, of client: ClientID?, isForRefresh: Bool) -> Waiter {
        let waiter = Waiter(lastNumber, of: client, isForRefresh: isForRefresh)
        lastNumber -= 1
        questionOfWaiter[waiter] = question
        return waiter
    }

    /// Removes the replies to internal waiters from the actions, and returns them.
    mutating func takeHeard(from actions: inout [Action]) -> [(question: Question, outcome: Outcome)] {
        guard !questionOfWaiter.isEmpty else { return [] }
        var heard: [(Question, Outcome)] = []
        actions.removeAll { action in
            guard let (waiter, outcome) = OtherFamilyLookups.told(by: action),
                waiter.number > OtherFamilyLookups.lowestNumber
            else { return false }
            if let question = questionOfWaiter.removeValue(forKey: waiter) { heard.append((question, outcome)) }
            return true
        }
        return heard
    }

    private static func told(by action: Action) -> (Waiter, Outcome)? {
        switch action {
        case .reply(let waiter, _, .fallback), .replyExpired(let waiter, _, _), .fail(let waiter, _, _):
            (waiter, .failed)
        case .reply(let waiter, let answer, let source): (waiter, .answer(answer, source))
        default: nil
        }
    }
}
