// Decides which log lines are written at once and which repetitions are only counted. Pure: reads no clock.
//
//     first time ──> written, window begins ── repeated in it ──> counted
//                          │                                        │
//                          └─ over, none counted: removed           └─ over: count written, next window begins

import Control
import DNSWire
import LinuxIO

struct LogFolding {
    /// Duration of a window: long enough to reduce a flood to one line a minute, short enough for the log to show that
    /// it continues.
    static let window: Duration = .seconds(60)
    /// Bound of lines with an open window. A further line evicts the one with the earliest end and writes its count.
    static let maxLines = 64

    private struct Kept {
        let line: LogLine
        var until: Instant
        var writtenCount: Int
        var counted = 0
    }

    /// Lines with an open window, ordered by its end.
    private var kept: [Kept] = []

    /// When the first window ends.
    var nextDeadline: Instant? { kept.first?.until }

    /// Returns the lines to write: none, this line, or the count of an evicted line followed by this line.
    ///
    /// - Parameter atOnce: number of equal lines per window that are written before further ones are counted.
    mutating func take(_ line: LogLine, atOnce: Int, now: Instant) -> [LogLine] {
        if let place = kept.firstIndex(where: { $0.line == line }) {
            guard kept[place].writtenCount >= atOnce else {
                kept[place].writtenCount += 1
                return [line]
            }
            kept[place].counted += 1
            return []
        }
        var lines: [LogLine] = []
        if kept.count == LogFolding.maxLines { lines = account(of: kept.removeFirst(), now: now) }
        kept.append(Kept(line: line, until: now + LogFolding.window, writtenCount: 1))
        return lines + [line]
    }

    /// Closes expired windows and returns their counts. A line with counted repetitions begins another window.
    mutating func timePassed(now: Instant) -> [LogLine] {
        var lines: [LogLine] = []
        while let first = kept.first, first.until <= now {
            kept.removeFirst()
            lines += account(of: first, now: now)
            if first.counted > 0 {
                kept.append(Kept(line: first.line, until: now + LogFolding.window, writtenCount: first.writtenCount))
            }
        }
        return lines
    }

    /// Returns all pending counts, for shutdown.
    mutating func end(now: Instant) -> [LogLine] {
        defer { kept = [] }
        return kept.flatMap { account(of: $0, now: now) }
    }

    private func account(of kept: Kept, now: Instant) -> [LogLine] {
        guard kept.counted > 0 else { return [] }
        let began = kept.until - LogFolding.window
        return [kept.line.again(kept.counted, inSeconds: max(1, Int(began.duration(to: now).wholeSeconds)))]
    }
}
