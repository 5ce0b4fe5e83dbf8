// The log: events go in, lines go to standard error. What is said, and how often, is decided in `LogLevels` and
// `LogFolding`; this only writes. Used by the main thread only.

import Control
import LinuxIO
import Settings

final class Log {
    private enum Form {
        case plain, journal, objects
    }

    private var levels: LogLevels
    private var folding = LogFolding()
    private var form: Form

    /// Before the settings are known: everything but details, in the form that the reader of standard error wants.
    convenience init() { self.init(Settings.defaults.log) }

    init(_ settings: Settings.Log) {
        levels = LogLevels(settings: LogLevel(settings.level))
        form = Log.form(settings.format)
    }

    /// Ends what the operator has set.
    func configure(_ settings: Settings.Log) {
        levels = LogLevels(settings: LogLevel(settings.level))
        form = Log.form(settings.format)
    }

    var saysQueries: Bool { LogLevel.info.isSaid(at: levels.level) }

    /// Those of a turn, at one go: each write may wait for whoever reads.
    func queries(_ events: [LogEvent]) {
        guard saysQueries, !events.isEmpty else { return }
        var lines: [LogLine] = []
        for event in events {
            if let atOnce = event.timesAtOnce {
                lines += folding.take(event.line, atOnce: atOnce, now: Clock.now())
            } else {
                lines.append(form == .objects ? event.line : event.lineWithoutFields)
            }
        }
        StandardStreams.writeError(lines.map(text).joined())
    }

    func callAsFunction(_ event: LogEvent) {
        guard event.level.isSaid(at: levels.level) else { return }
        let line = event.line
        guard let atOnce = event.timesAtOnce else { return write(line) }
        for line in folding.take(line, atOnce: atOnce, now: Clock.now()) { write(line) }
    }

    /// Said as it is, each time, whatever the level: for logs that were asked for in so many words.
    func write(_ line: LogLine) {
        StandardStreams.writeError(text(line))
    }

    private func text(_ line: LogLine) -> String {
        switch form {
        case .plain: line.plain
        case .journal: line.forJournal
        case .objects: line.object(at: Clock.wallMilliseconds())
        }
    }

    // MARK: level

    /// - Parameter seconds: nil: until the next change.
    func setLevel(_ level: LogLevel, seconds: Int?, now: Instant) -> LogLevelReport {
        levels.set(level, seconds: seconds, now: now)
        let report = levels.report(now: now)
        self(.levelChanged(report))
        return report
    }

    // MARK: time

    var nextDeadline: Instant? { [levels.nextDeadline, folding.nextDeadline].compactMap { $0 }.min() }

    func timePassed(now: Instant) {
        for line in folding.timePassed(now: now) { write(line) }
        if levels.timePassed(now: now) { self(.levelChanged(levels.report(now: now))) }
    }

    /// Says what was only counted so far.
    func end(now: Instant) {
        for line in folding.end(now: now) { write(line) }
    }

    private static func form(_ format: Settings.Log.LineForm) -> Form {
        switch format {
        case .json: .objects
        case .text: StandardStreams.isErrorTheJournal ? .journal : .plain
        }
    }
}

extension LogLevel {
    init(_ level: Settings.Log.Level) {
        switch level {
        case .error: self = .error
        case .warning: self = .warning
        case .info: self = .info
        case .debug: self = .debug
        }
    }
}
