// Writes log events as lines to standard error. `LogLevels` and `LogFolding` decide which lines appear. Main thread
// only.

import Control
import DNSWire
import LinuxIO
import Settings

final class Log: LoopPart {
    private enum Form {
        case plain, journal, objects
    }

    private var levels: LogLevels
    private var folding = LogFolding()
    private var form: Form

    /// Used before the settings are read: level info, and the format that suits standard error.
    convenience init() { self.init(Settings.defaults.log) }

    init(_ settings: Settings.Log) {
        levels = LogLevels(settings: LogLevel(settings.level))
        form = Log.form(settings.format)
    }

    /// Applies new settings, which replaces a level set by the operator.
    func configure(_ settings: Settings.Log) {
        levels = LogLevels(settings: LogLevel(settings.level))
        form = Log.form(settings.format)
    }

    var saysQueries: Bool { LogLevel.info.isSaid(at: levels.level) }

    /// Writes the query events of one turn with a single write, because each write may block until the reader reads.
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

    /// Writes a line regardless of level and repetition, for output that was explicitly requested.
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

    /// - Parameter seconds: how long the level applies; nil: until the next change.
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

    /// Writes the pending counts of folded lines.
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
