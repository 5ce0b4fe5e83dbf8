// A rule that was added at run time, as `rule` shows it.

package struct AddedRuleReport: Codable, Equatable, Sendable {
    /// The name; "." for all names.
    package var name: String
    /// The settings "KEY=VALUE", as they were given.
    package var settings: [String]
    /// The remaining time; nil: no time limit.
    package var secondsLeft: Int?
    /// The end of this time in seconds since 1970.
    package var untilSeconds: Int?
    /// True without a store; nil: the rule is kept across a restart.
    package var endsWithDaemon: Bool?

    package init(
        name: String, settings: [String], secondsLeft: Int? = nil, untilSeconds: Int? = nil,
        endsWithDaemon: Bool? = nil
    ) {
        self.name = name
        self.settings = settings
        self.secondsLeft = secondsLeft
        self.untilSeconds = untilSeconds
        self.endsWithDaemon = endsWithDaemon
    }

    package enum CodingKeys: String, CodingKey {
        case name, settings
        case secondsLeft = "left_s"
        case untilSeconds = "until_s"
        case endsWithDaemon = "ends_with_daemon"
    }
}

extension AddedRuleReport {
    /// The rule as text: "ads.example: answer=nxdomain, until 2026-11-21 12:34:56Z (10m)".
    var text: String {
        let words = settings.map(QuotedWords.quoted).joined(separator: " ")
        return "\(name): \(words.shown(maxBytes: AddedRuleReport.maxTextBytes))\(end)"
    }

    private var end: String {
        let kept = endsWithDaemon == true ? ", at most until the daemon ends: it has no store" : ""
        guard let secondsLeft, let untilSeconds else { return kept }
        let end = LineFormat.moment(secondsSince1970: Int64(untilSeconds))
        return ", until \(end) (\(LineFormat.span(seconds: secondsLeft)))\(kept)"
    }

    /// Maximum size of the text, more than one line of a note of the store holds.
    private static let maxTextBytes = 4_096

    static func text(_ reports: [AddedRuleReport]) -> String {
        reports.isEmpty ? "no rule was added\n" : reports.map { "\($0.text)\n" }.joined()
    }
}
