// The last known good answer to a question: records with a verified address, or else a provider's last ones. An
// upstream that denies it is not believed alone: a second provider is asked, and a valid certificate outweighs one
// denial.

package import DNSWire

/// What an upstream says against a last known good answer. The raw values appear in reports.
package enum Denial: String, Sendable, CaseIterable {
    case noSuchName = "no-such-name"
    case noData = "no-data"
    /// The addresses of its answer are mismatched or unreachable.
    case disproved

    init(_ kind: Answer.Kind) {
        switch kind {
        case .records: self = .disproved
        case .noSuchName: self = .noSuchName
        case .noData, .ambiguousEmpty: self = .noData
        }
    }

    var extendedError: ExtendedError {
        switch self {
        case .noSuchName: .lastKnownGood(because: "one upstream says no such name")
        case .noData: .lastKnownGood(because: "one upstream says no data")
        case .disproved: .lastKnownGood(because: "one upstream gives addresses that fail verification")
        }
    }
}

/// The doubt about denials of a last known good answer: from the first denial until an upstream confirms the answer, or
/// the denial is believed.
package struct Doubt: Equatable, Sendable {
    package let denial: Denial
    /// The first source that denied the answer.
    package let source: Source
    package let since: Instant
    /// When the denial is believed at the latest.
    package let until: Instant
    /// A client got the last known good answer.
    package internal(set) var isGiven = false

    package init(denial: Denial, source: Source, since: Instant, until: Instant) {
        (self.denial, self.source, self.since, self.until) = (denial, source, since, until)
    }
}

/// The begin and end of an episode in which clients got a last known good answer. On another network, and for a name
/// that is evicted, it ends without news.
package enum DoubtNews: Equatable, Sendable {
    case given(Question, Doubt)
    case believed(Question, Doubt, DoubtEnd)
    /// An upstream gave records again.
    case confirmed(Question, Doubt, by: Source)
    /// The cached answer was flushed, or other settings apply to the name.
    case forgotten(Question, Doubt)

    package var word: String {
        switch self {
        case .given: "given"
        case .believed: "believed"
        case .confirmed: "confirmed"
        case .forgotten: "forgotten"
        }
    }
}

/// Why a denial was believed after a doubt. The raw values appear in the log.
package enum DoubtEnd: String, Sendable, CaseIterable {
    /// A second source denied the answer, too.
    case secondSource = "a second upstream says so"
    /// No address of the answer showed a valid certificate any more.
    case unverified = "no address shows a valid certificate any more"
    /// The name has no certificate, and no second source gave the answer in time.
    case unconfirmed = "no second upstream has the answer"
    /// `stale.last-known-good` has passed.
    case time = "last-known-good has passed"
}

/// Numbers since the start.
package struct DoubtCounts: Equatable, Sendable {
    /// Lookups that gave a last known good answer.
    package var given: UInt64 = 0
    package var begun: UInt64 = 0
    /// Doubts that ended with the denial.
    package var believed: UInt64 = 0

    package init() {}
}

struct LastKnownGood {
    /// The answer as it was received; the other family's question has none, and its answer is "no data".
    let answer: Answer
    let source: Source
    /// One of its addresses shows a valid certificate for the name.
    let isVerified: Bool
}
