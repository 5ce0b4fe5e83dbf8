// The number of billed questions that an account allows per day or month.

package struct QuestionQuota: Hashable, Sendable {
    package enum Period: String, CaseIterable, Sendable {
        case day, month
    }

    /// The number of questions, 1 or more.
    package let questions: Int
    package let period: Period

    package init(_ questions: Int, per period: Period) {
        self.questions = questions
        self.period = period
    }
}

extension QuestionQuota: CustomStringConvertible {
    package var description: String { "\(questions)/\(period.rawValue)" }
}
