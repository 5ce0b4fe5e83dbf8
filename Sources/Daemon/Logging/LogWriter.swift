// Writes log lines to standard error on a thread of its own. A reader that stops blocks that thread only: lines without
// room are dropped and counted, and a line says how many when there is room again. Main thread only.

import Control
import DNSWire
import LinuxIO
import Synchronization

final class LogWriter {
    /// Bound on waiting text: some 1,500 lines, which are three turns of logged queries
    /// (`QueryWatches.maxLinesPerTurn`), or hours of all other lines.
    private static let maxBytes = 128 << 10
    /// Bound on waiting texts, which limits the overhead of short texts.
    private static let maxTexts = 2_048
    /// Longest wait for the reader at the end of the process.
    private static let patience: Duration = .seconds(1)

    private let counts = LogCounts()
    /// The texts for the thread. Nil tells it to end; the mailbox has room for nil besides all texts.
    private var mailbox: Mailbox<WaitingText?>?
    private var thread: NamedThread?

    deinit {
        finish()
    }

    /// Lines that were not written: the reader was too slow, or the disk was full.
    var droppedLines: UInt64 {
        counts.refusedLines.load(ordering: .relaxed) + counts.failedLines.load(ordering: .relaxed)
    }

    /// - Parameters:
    ///   - text: whole lines.
    ///   - lines: their number.
    func write(_ text: String, lines: Int, form: LogForm) {
        guard let mailbox = beginIfNeeded() else {
            // Without threads the daemon does not start, and this line says so.
            StandardStreams.writeError(text)
            return
        }
        let bytes = text.utf8.count
        let refused = counts.refusedLines.load(ordering: .relaxed)
        guard counts.bytes.load(ordering: .relaxed) + bytes <= LogWriter.maxBytes,
            counts.texts.load(ordering: .relaxed) < LogWriter.maxTexts
        else {
            counts.refusedLines.store(refused + UInt64(lines), ordering: .relaxed)
            return
        }
        counts.bytes.add(bytes, ordering: .relaxed)
        counts.texts.add(1, ordering: .relaxed)
        _ = mailbox.post(WaitingText(text: text, lines: lines, form: form, refusedBefore: refused))
    }

    /// Waits for the reader, but not for long. May be called again.
    func finish() {
        guard let thread = thread.take(), let mailbox else { return }
        _ = mailbox.post(nil)
        _ = thread.join(within: LogWriter.patience)
    }

    /// Returns the mailbox; nil if the system has no room for a thread. The initializer starts no thread, because
    /// threads must not exist before the privileges are dropped.
    private func beginIfNeeded() -> Mailbox<WaitingText?>? {
        if thread != nil { return mailbox }
        guard let new = try? Mailbox<WaitingText?>(capacity: LogWriter.maxTexts + 1) else { return nil }
        let counts = counts
        thread = try? NamedThread("log") {
            var loop = LogLoop(counts)
            loop.run(new)
        }
        mailbox = new
        return thread == nil ? nil : new
    }
}

private struct WaitingText: Sendable {
    let text: String
    let lines: Int
    let form: LogForm
    /// Lines that were refused before this text, since the start.
    let refusedBefore: UInt64
}

private final class LogCounts: Sendable {
    /// Bytes of texts that are not written yet.
    let bytes = Atomic<Int>(0)
    let texts = Atomic<Int>(0)
    let refusedLines = Atomic<UInt64>(0)
    let failedLines = Atomic<UInt64>(0)
}

enum LogForm {
    case plain, journal, objects

    func text(_ line: LogLine) -> String {
        switch self {
        case .plain: line.plain
        case .journal: line.forJournal
        case .objects: line.object(at: Clock.wallMilliseconds())
        }
    }
}

/// The work of the writer's thread.
private struct LogLoop {
    private let counts: LogCounts
    /// Dropped lines that were reported by a line.
    private var reportedLines: UInt64 = 0
    private var form = LogForm.plain

    init(_ counts: LogCounts) {
        self.counts = counts
    }

    mutating func run(_ mailbox: Mailbox<WaitingText?>) {
        var wait = PollSet([mailbox.descriptor])
        while true {
            // Without memory for the wait, the next round tries again.
            try? wait.wait()
            for text in mailbox.takeAll() {
                guard let text else { return }
                form = text.form
                write(text.text, lines: text.lines, refused: text.refusedBefore)
                counts.bytes.subtract(text.text.utf8.count, ordering: .relaxed)
                counts.texts.subtract(1, ordering: .relaxed)
            }
            write("", lines: 0, refused: counts.refusedLines.load(ordering: .relaxed))
        }
    }

    /// - Parameter refused: lines that were refused before these, since the start.
    private mutating func write(_ text: String, lines: Int, refused: UInt64) {
        let dropped = refused + counts.failedLines.load(ordering: .relaxed)
        let missing = dropped > reportedLines ? dropped - reportedLines : 0
        let note = missing == 0 ? "" : form.text(LogLine(droppedLines: missing))
        guard missing > 0 || lines > 0 else { return }
        if StandardStreams.writeError(note + text) {
            reportedLines += missing
        } else {
            counts.failedLines.add(UInt64(lines), ordering: .relaxed)
        }
    }
}

extension LogLine {
    /// The line is no log event: it is written in the place of the dropped lines, not when they are dropped.
    fileprivate init(droppedLines count: UInt64) {
        let lines = counted(Int(count), "log line", "log lines")
        self.init(
            .warning, "log-lines-dropped",
            "\(lines) dropped: standard error was not read in time, or its disk was full",
            fields: ["count": .number(Int(count))])
    }
}
