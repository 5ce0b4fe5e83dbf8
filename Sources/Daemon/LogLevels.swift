// Which level the log has: that of the settings, or the operator's for a while. A value: it reads no clock.

import Control
import LinuxIO

struct LogLevels {
    private let settings: LogLevel
    private var operators: (level: LogLevel, until: Instant?)?

    /// A level that the operator has set before goes away with the settings that it was set beside.
    init(settings: LogLevel) {
        self.settings = settings
    }

    var level: LogLevel { operators?.level ?? settings }

    /// When the operator's level ends by itself.
    var nextDeadline: Instant? { operators?.until }

    /// - Parameter seconds: nil: until the next change.
    mutating func set(_ level: LogLevel, seconds: Int?, now: Instant) {
        operators = (level, seconds.map { now + .seconds($0) })
    }

    /// True when the operator's level has just ended.
    mutating func timePassed(now: Instant) -> Bool {
        guard let until = nextDeadline, until <= now else { return false }
        operators = nil
        return true
    }

    func report(now: Instant) -> LogLevelReport {
        let left = nextDeadline.map { Int((now.duration(to: $0) + .milliseconds(999)).components.seconds) }
        return LogLevelReport(level: level, secondsLeft: left, levelOfSettings: settings)
    }
}
