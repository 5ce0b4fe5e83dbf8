// Writes log events as lines to standard error or to the journal, without waiting for their reader. `LogLevels` and
// `LogFolding` decide which lines appear. Main thread only.

import Control
import DNSWire
import LinuxIO
import Settings

final class Log: TimedPart {
    let timer = PartTimer()
    private var levels: LogLevels { didSet { timer.changed() } }
    private var folding = LogFolding() { didSet { timer.changed() } }
    private var form: LogForm
    private let writer = LogWriter()

    /// Used before the settings are read: level info, and the format that suits standard error.
    convenience init() { self.init(Settings.defaults.log) }

    init(_ settings: Settings.Log) {
        levels = LogLevels(settings: LogLevel(settings.level))
        form = LogForm(settings.format)
    }

    /// Applies new settings, which replaces a level set by the operator.
    func configure(_ settings: Settings.Log) {
        levels = LogLevels(settings: LogLevel(settings.level))
        form = LogForm(settings.format)
    }

    var droppedLines: UInt64 { writer.droppedLines }

    var logsQueries: Bool { LogLevel.info.isLogged(at: levels.level) }

    /// Writes the query events of one turn with a single write.
    func queries(_ events: [LogEvent]) {
        guard logsQueries, !events.isEmpty else { return }
        var lines: [LogLine] = []
        for event in events {
            if let atOnce = event.timesAtOnce {
                lines += folding.take(event.line, atOnce: atOnce, now: Clock.now())
            } else {
                lines.append(form == .plain ? event.lineWithoutFields : event.line)
            }
        }
        writer.write(lines, as: form)
    }

    func callAsFunction(_ event: LogEvent) {
        guard event.level.isLogged(at: levels.level) else { return }
        let line = event.line
        guard let atOnce = event.timesAtOnce else { return write(line) }
        for line in folding.take(line, atOnce: atOnce, now: Clock.now()) { write(line) }
    }

    /// Writes a line regardless of level and repetition, for output that was explicitly requested.
    func write(_ line: LogLine) {
        writer.write([line], as: form)
    }

    /// Writes why the process does not start, after which it ends.
    func writeLast(_ event: LogEvent) {
        writer.write([event.line], as: form == .journal ? .journalStream : form)
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

    /// Waits a moment until the lines are written, at the end of the process.
    func finish() { writer.finish() }
}

extension LogForm {
    init(_ format: Settings.Log.LineForm) {
        switch format {
        case .json: self = .objects
        case .text: self = StandardStreams.isErrorTheJournal ? .journal : .plain
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
