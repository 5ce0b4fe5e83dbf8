// The number of billed questions that an account allows per day or month.

import DNSWire

extension Settings.Provider {
    /// The handling of a question when the budget or quota is used up.
    package enum WhenUsedUp: String, CaseIterable, Sendable {
        /// The question waits for its turn.
        case wait
        /// Another provider is asked. Without one, the question waits for its turn or gets an expired answer.
        case next
        /// The system resolver may answer.
        case system
    }

    package struct Quota: Hashable, Sendable {
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
}

extension Settings.Provider.Quota: CustomStringConvertible {
    package var description: String { "\(questions)/\(period.rawValue)" }
}

extension Format<Settings.Provider.Quota> {
    /// Maximum number of questions, more than any vendor's largest package has.
    private static let maxQuestions = 1_000_000_000_000

    static let quota = Format.text(
        allowed: "\"COUNT/day\" or \"COUNT/month\" with 1 to \(maxQuestions) questions",
        remediesIntegers: true,
        remedy: { text in
            let count = Int(text.filter { $0 != "," && $0 != "_" && $0 != " " })
            guard let count, (1...maxQuestions).contains(count) else { return nil }
            return "a period is missing: write \"\(count)/month\""
        },
        parse: { text in
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, let period = Settings.Provider.Quota.Period(rawValue: parts[1]),
                parts[0].utf8.allSatisfy(\.isDigit), let count = Int(parts[0]), (1...maxQuestions).contains(count)
            else { return nil }
            return Settings.Provider.Quota(count, per: period)
        },
        write: \.description)
}
