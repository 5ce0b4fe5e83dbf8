// The effective log level: the settings' level, or the operator's for a limited time. Reads no clock.

import Control
import DNSWire
import LinuxIO

struct LogLevels {
    private let settings: LogLevel
    private var operators: (level: LogLevel, until: Instant?)?

    /// Starts without an operator's level: new settings discard it.
    init(settings: LogLevel) {
        self.settings = settings
    }

    var level: LogLevel { operators?.level ?? settings }

    /// When the operator's level expires.
    var nextDeadline: Instant? { operators?.until }

    /// - Parameter seconds: how long the level applies; nil: until the next change.
    mutating func set(_ level: LogLevel, seconds: Int?, now: Instant) {
        operators = (level, seconds.map { now + .seconds($0) })
    }

    /// Returns true if the operator's level has just expired.
    mutating func timePassed(now: Instant) -> Bool {
        guard let until = nextDeadline, until <= now else { return false }
        operators = nil
        return true
    }

    func report(now: Instant) -> LogLevelReport {
        let left = nextDeadline.map { Int((now.duration(to: $0) + .milliseconds(999)).wholeSeconds) }
        return LogLevelReport(level: level, secondsLeft: left, levelOfSettings: settings)
    }
}
