// Reads and writes the setting `quota` of a provider.

import DNSWire

extension Format<QuestionQuota> {
    /// Maximum number of questions, more than any vendor's largest package has.
    private static let maxQuestions = 1_000_000_000_000

    static let quota = Format.text(
        allowed: "\"COUNT/day\" or \"COUNT/month\" with 1 to \(maxQuestions) questions",
        schema: .matching("0*\(TextPattern.number(1...maxQuestions))/(day|month)"), remediesIntegers: true,
        remedy: { text in
            let count = Int(text.filter { $0 != "," && $0 != "_" && $0 != " " })
            guard let count, (1...maxQuestions).contains(count) else { return nil }
            return "a period is missing: write \"\(count)/month\""
        },
        parse: { text in
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, let period = QuestionQuota.Period(rawValue: parts[1]),
                parts[0].utf8.allSatisfy(\.isDigit), let count = Int(parts[0]), (1...maxQuestions).contains(count)
            else { return nil }
            return QuestionQuota(count, per: period)
        },
        write: \.description)
}
