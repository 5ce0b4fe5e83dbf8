// A switch that is off: its names, its end and its reason.

package struct SwitchReport: Codable, Equatable, Sendable {
    /// The scope: "." for all names, otherwise the name at the top of a subtree.
    package var scope: String
    /// The remaining time; nil: no time limit.
    package var secondsLeft: Int?
    /// The end of this time in seconds since 1970.
    package var untilSeconds: Int?
    /// The reason: `byOperator`, or another reason why providers are not asked.
    package var reason: String

    package static let byOperator = "operator"

    package init(
        scope: String, secondsLeft: Int? = nil, untilSeconds: Int? = nil, reason: String = SwitchReport.byOperator
    ) {
        self.scope = scope
        self.secondsLeft = secondsLeft
        self.untilSeconds = untilSeconds
        self.reason = reason
    }

    package enum CodingKeys: String, CodingKey {
        case scope, reason
        case secondsLeft = "left_s"
        case untilSeconds = "until_s"
    }
}

extension SwitchReport {
    /// The switch as text: "off for all names, until 12:34:56Z (10m)".
    package var text: String {
        let names = scope == "." ? "all names" : "\(scope) and everything under it"
        return "off for \(names)" + (reason == SwitchReport.byOperator ? ", until \(end)" : ": \(reason)")
    }

    private var end: String {
        guard let secondsLeft else { return "switched on" }
        let left = LineFormat.span(seconds: secondsLeft)
        return untilSeconds.map { "\(LineFormat.timeOfDay(secondsSince1970: $0)) (\(left))" } ?? "in \(left)"
    }
}
