// The current log level, and how long it applies.

package struct LogLevelReport: Report, Codable, Equatable {
    package let level: LogLevel
    /// How long the level stays in force; nil: until it is changed, or the settings are reloaded.
    package let secondsLeft: Int?
    /// The level in the settings, which applies afterwards.
    package let levelOfSettings: LogLevel

    package init(level: LogLevel, secondsLeft: Int? = nil, levelOfSettings: LogLevel) {
        self.level = level
        self.secondsLeft = secondsLeft
        self.levelOfSettings = levelOfSettings
    }

    package enum CodingKeys: String, CodingKey {
        case level
        case secondsLeft = "left_s"
        case levelOfSettings = "settings"
    }

    /// The level as text: "log level is debug for 10m, then info".
    package var sentence: String {
        let start = "log level is \(level.rawValue)"
        if let secondsLeft {
            return "\(start) for \(LineFormat.span(seconds: secondsLeft)), then \(levelOfSettings.rawValue)"
        }
        guard level != levelOfSettings else { return "\(start), as in the settings" }
        return "\(start), until the next change or reload (settings: \(levelOfSettings.rawValue))"
    }

    package var text: String { sentence + "\n" }
}
