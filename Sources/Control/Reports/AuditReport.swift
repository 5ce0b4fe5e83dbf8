// `audit`: what each provider's replies were worth in a day and a week, with a verdict in words. AuditText.swift has
// the words.

package struct AuditReport: Report, Codable, Equatable {
    /// The best first.
    package let providers: [AuditedProvider]

    package init(_ providers: [AuditedProvider]) { self.providers = providers }

    /// Part of a number of names or requests, with the limits of the true share.
    package struct Share: Codable, Equatable, Sendable {
        package let count: Int
        package let all: Int
        /// With 95 % confidence, from 0 to 1.
        package let low: Double
        package let high: Double

        package init(_ count: Int, of all: Int, _ limits: ClosedRange<Double>) {
            (self.count, self.all) = (count, all)
            (low, high) = (AuditReport.rounded(limits.lowerBound), AuditReport.rounded(limits.upperBound))
        }

        /// The share, from 0 to 1; nil of nothing.
        var share: Double? { all > 0 ? Double(count) / Double(all) : nil }

        package enum CodingKeys: String, CodingKey {
            case count, low, high
            case all = "of"
        }
    }

    /// Something proven against a provider.
    package struct Finding: Codable, Equatable, Sendable {
        package enum Kind: String, Codable, CaseIterable, Sendable {
            case forges, denies, expires, fails, late, slower, farther, dear
        }

        package let kind: Kind
        package let share: Share?
        /// The part by which it is slower, the milliseconds by which it is farther, or the price of the cheapest.
        package let amount: Double?

        package init(_ kind: Kind, _ share: Share? = nil, amount: Double? = nil) {
            (self.kind, self.share, self.amount) = (kind, share, amount.map(AuditReport.rounded))
        }
    }

    /// The numbers of a day or a week.
    package struct Window: Codable, Equatable, Sendable {
        package var requests = 0
        /// The forged ones among the names judged by certificates.
        package var forged: Share
        /// The denied ones among the names that are known to exist.
        package var denied: Share
        /// The names with an expired answer among those whose answers were compared or probed.
        package var expired: Share
        /// The late ones among the replies.
        package var late: Share
        /// The failed ones among the requests with a reply and those that failed while another provider replied.
        package var failed: Share
        /// Mean time of a reply; nil with few replies.
        package var replyMilliseconds: Double?
        /// Mean time of a connection to its addresses, and to those that others gave; nil with few names.
        package var connectMilliseconds: Double?
        package var othersConnectMilliseconds: Double?
        /// The worst first.
        package var findings: [Finding] = []
        /// Registrable domains with bad answers, by kind of finding: the latest. Nil where names are not shown.
        package var domains: [String: [String]]?

        package init(forged: Share, denied: Share, expired: Share, late: Share, failed: Share) {
            (self.forged, self.denied, self.expired) = (forged, denied, expired)
            (self.late, self.failed) = (late, failed)
        }

        package enum CodingKeys: String, CodingKey {
            case requests, forged, denied, expired, late, failed, findings, domains
            case replyMilliseconds = "reply_ms"
            case connectMilliseconds = "connect_ms"
            case othersConnectMilliseconds = "others_connect_ms"
        }

        /// The shares by the names of the metrics.
        package var shares: KeyValuePairs<String, Share> {
            ["forged": forged, "denied": denied, "expired": expired, "late": late, "failed": failed]
        }
    }

    package static func rounded(_ number: Double) -> Double { (number * 10_000).rounded() / 10_000 }
}

package struct AuditedProvider: Codable, Equatable, Sendable {
    package let name: String
    /// The place among the providers, 1 for the best.
    package let rank: Int
    /// The words for the findings of the week.
    package let verdict: String
    /// What to do about them.
    package let advice: [String]
    /// Price of 1,000 questions as in the settings; nil: not set.
    package let price: Double?
    /// The provider gets comparison questions.
    package let isCompared: Bool
    /// Comparison questions since the start.
    package let comparisons: Int
    package var day: AuditReport.Window
    package var week: AuditReport.Window

    /// - Parameters:
    ///   - isConclusive: enough names were judged for a verdict.
    ///   - isOpen: everything on the path can change the replies, as TLS does not protect them.
    package init(
        _ name: String, rank: Int, price: Double?, isCompared: Bool, comparisons: Int, isConclusive: Bool, isOpen: Bool,
        day: AuditReport.Window, week: AuditReport.Window
    ) {
        (self.name, self.rank, self.price) = (name, rank, price)
        (self.isCompared, self.comparisons, self.day, self.week) = (isCompared, comparisons, day, week)
        let words = week.findings.map { $0.words(isOpen: isOpen, price: price) }
        let judged = counted(week.forged.all, "name", "names")
        verdict =
            !words.isEmpty
            ? words.joined(separator: "; ") : isConclusive ? "honest" : "nothing found yet, \(judged) judged"
        advice = week.findings.map { $0.advice(isOpen: isOpen) }
            .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    package enum CodingKeys: String, CodingKey {
        case name, rank, verdict, advice, price, comparisons, day, week
        case isCompared = "compared"
    }
}
