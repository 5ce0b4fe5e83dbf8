// A switch that is off, as people and scripts see it: for which names, how long, and why.

package struct SwitchReport: Codable, Equatable, Sendable {
    /// "." for all names, else a name, which stands for everything under it, too.
    package var scope: String
    /// Nil: it does not end by itself.
    package var secondsLeft: Int?
    /// When that is, in seconds since 1970.
    package var untilSeconds: Int?
    /// `byOperator`, or what else keeps the providers from being asked.
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
    /// "off for all names, until 12:34:56Z (10m)"
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
