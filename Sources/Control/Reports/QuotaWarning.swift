// A provider's quota that is used to 80 % or more, for the log, `status` and the doctor.

package struct QuotaWarning: Codable, Equatable, Sendable {
    package var provider: String
    /// Billed questions in the quota's period.
    package var questions: Int
    /// The quota as in the settings: "1000000/month".
    package var quota: String
    package var isUsedUp: Bool

    package init(provider: String, questions: Int, quota: String, isUsedUp: Bool) {
        self.provider = provider
        self.questions = questions
        self.quota = quota
        self.isUsedUp = isUsedUp
    }

    package enum CodingKeys: String, CodingKey {
        case provider, questions, quota
        case isUsedUp = "used_up"
    }

    package var text: String {
        let used = "\(LineFormat.grouped(questions)) questions are billed of the quota \(quota)"
        return isUsedUp
            ? "provider \(provider) is over its quota, and asked as a last resort only until the period ends: \(used)"
            : "provider \(provider) has used 80 % of its quota: \(used)"
    }
}
