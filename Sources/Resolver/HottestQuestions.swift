// The most asked questions, for those who look on. A bounded view of the plan of refreshes: it changes nothing.

package import DNSWire

package struct AskedQuestion: Equatable, Sendable {
    package let question: Question
    /// Estimated from what was seen of it in the last minutes.
    package let perSecond: Double
}

extension Resolver {
    /// The most asked first.
    ///
    /// - Parameter hits: the cache's of a question that have not been counted yet. Asked for everything that the plan
    ///   knows, some thousand questions.
    package func hottest(atMost count: Int, hits: (Question) -> Int, now: Instant) -> [AskedQuestion] {
        plan.hottestQuestions(atMost: count, hits: hits, now: now)
    }
}

/// The largest of what is offered, largest first; of equals, those that came first.
struct Largest {
    private let count: Int
    private(set) var questions: [AskedQuestion] = []

    init(_ count: Int) {
        self.count = count
        questions.reserveCapacity(count + 1)
    }

    /// What is not above this has no place any more.
    var threshold: Double { questions.count < count ? 0 : questions.last?.perSecond ?? .infinity }

    mutating func offer(_ question: Question, perSecond: Double) {
        guard perSecond > threshold else { return }
        let place = questions.firstIndex { $0.perSecond < perSecond } ?? questions.count
        questions.insert(AskedQuestion(question: question, perSecond: perSecond), at: place)
        if questions.count > count { questions.removeLast() }
    }
}
