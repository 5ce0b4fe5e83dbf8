// Writes log lines to standard error, or to the journal with their fields, on a thread of its own. A reader that stops
// blocks that thread only: lines without room are dropped and counted, and a line says how many when there is room
// again. Main thread only.

import Control
import DNSWire
import LinuxIO
import Synchronization

final class LogWriter {
    /// Bound on waiting text: some 900 entries of the journal or 6,000 lines of text, which are more than a turn of
    /// logged queries (`QueryWatches.maxLinesPerTurn`), or hours of all other lines.
    private static let maxBytes = 512 << 10
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

    /// Lines that are text are written together.
    func write(_ lines: [LogLine], as form: LogForm) {
        let parts = form.parts(lines)
        guard let mailbox = beginIfNeeded() else {
            // Without threads the daemon does not start, and this line says so.
            for part in parts { StandardStreams.writeError(part.text) }
            return
        }
        let refused = counts.refusedLines.load(ordering: .relaxed)
        var room = LogWriter.maxBytes - counts.bytes.load(ordering: .relaxed)
        if counts.texts.load(ordering: .relaxed) >= LogWriter.maxTexts { room = 0 }
        let taken = parts.prefix { part in
            room -= part.bytes
            return room >= 0
        }
        let lost = parts.dropFirst(taken.count).reduce(0) { $0 + $1.lines }
        counts.refusedLines.store(refused + UInt64(lost), ordering: .relaxed)
        guard !taken.isEmpty else { return }
        let bytes = taken.reduce(0) { $0 + $1.bytes }
        counts.bytes.add(bytes, ordering: .relaxed)
        counts.texts.add(1, ordering: .relaxed)
        _ = mailbox.post(WaitingText(parts: Array(taken), bytes: bytes, form: form, refusedBefore: refused))
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
    let parts: [LogPart]
    let bytes: Int
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
    /// Through standard error. The journal finds the unit of an entry by the sender's process, which may have ended by
    /// then; it knows the unit of a stream from its beginning.
    case journalStream

    fileprivate func parts(_ lines: [LogLine]) -> [LogPart] {
        switch self {
        case .plain: [LogPart(text: lines.map(\.plain).joined(), lines: lines.count)]
        case .journal: lines.map { LogPart(text: $0.forJournal, lines: 1, entry: $0.journalEntry) }
        case .journalStream: [LogPart(text: lines.map(\.forJournal).joined(), lines: lines.count)]
        case .objects:
            [LogPart(text: lines.map { $0.object(at: Clock.wallMilliseconds()) }.joined(), lines: lines.count)]
        }
    }
}

/// Lines that are written at once.
private struct LogPart: Sendable {
    let text: String
    let lines: Int
    /// The line as an entry of the journal. If the journal does not take it, the text is written.
    var entry: [UInt8] = []

    var bytes: Int { text.utf8.count + entry.count }
}

/// The work of the writer's thread.
private struct LogLoop {
    private let counts: LogCounts
    /// Dropped lines that were reported by a line.
    private var reportedLines: UInt64 = 0
    private var form = LogForm.plain
    private lazy var journal = try? JournalSocket()

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
                reportDropped(text.refusedBefore)
                for part in text.parts where !write(part) {
                    counts.failedLines.add(UInt64(part.lines), ordering: .relaxed)
                }
                counts.bytes.subtract(text.bytes, ordering: .relaxed)
                counts.texts.subtract(1, ordering: .relaxed)
            }
            reportDropped(counts.refusedLines.load(ordering: .relaxed))
        }
    }

    /// - Parameter refused: lines that were refused since the start.
    private mutating func reportDropped(_ refused: UInt64) {
        let dropped = refused + counts.failedLines.load(ordering: .relaxed)
        guard dropped > reportedLines else { return }
        let note = form.parts([LogLine(droppedLines: dropped - reportedLines)])
        if note.allSatisfy({ write($0) }) { reportedLines = dropped }
    }

    /// - Returns: false if the part could not be written.
    private mutating func write(_ part: LogPart) -> Bool {
        if !part.entry.isEmpty, let journal, journal.send(part.entry) { return true }
        return StandardStreams.writeError(part.text)
    }
}

extension LogLine {
    /// The line is no log event: it is written in the place of the dropped lines, not when they are dropped.
    fileprivate init(droppedLines count: UInt64) {
        let lines = counted(Int(count), "log line", "log lines")
        self.init(
            .warning, EventWord.logLinesDropped.rawValue,
            "\(lines) dropped: standard error was not read in time, or its disk was full",
            fields: ["count": .number(Int(count))])
    }
}
