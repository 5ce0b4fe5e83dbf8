// The most asked questions, as a bounded read-only view of the refresh plan.

package import DNSWire

package struct AskedQuestion: Equatable, Sendable {
    package let question: Question
    /// The rate, estimated from the last minutes.
    package let perSecond: Double
}

/// Collects the largest of the offered values, largest first. Equal values stay in insertion order.
struct Largest {
    private let count: Int
    private(set) var questions: [AskedQuestion] = []

    init(_ count: Int) {
        self.count = count
        questions.reserveCapacity(count + 1)
    }

    /// A value must exceed this threshold to be added.
    var threshold: Double { questions.count < count ? 0 : questions.last?.perSecond ?? .infinity }

    mutating func offer(_ question: Question, perSecond: Double) {
        guard perSecond > threshold else { return }
        let place = questions.firstIndex { $0.perSecond < perSecond } ?? questions.count
        questions.insert(AskedQuestion(question: question, perSecond: perSecond), at: place)
        if questions.count > count { questions.removeLast() }
    }
}
