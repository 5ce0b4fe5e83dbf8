// Which lines are said at once, and which are only counted because the same has been said already. A value: it reads
// no clock and writes nothing.
//
//     first time ──> said, and a window begins ── said again in it ──> counted
//                          │                                             │
//                          └─ over, nothing counted: forgotten           └─ over: told, the next window begins

import Control
import LinuxIO

struct LogFolding {
    /// Long enough for a flood to be a line a minute, short enough to see from the log that it goes on.
    static let window: Duration = .seconds(60)
    /// Different lines in their windows. One more pushes out the one whose window ends first, with its count.
    static let maxLines = 64

    private struct Kept {
        let line: LogLine
        var until: Instant
        var said: Int
        var counted = 0
    }

    /// In the order in which their windows end.
    private var kept: [Kept] = []

    /// The end of the first window.
    var nextDeadline: Instant? { kept.first?.until }

    /// What is to be said now that this came: nothing, the line, or what it pushed out and the line.
    ///
    /// - Parameter atOnce: so often in a window it is said each time.
    mutating func take(_ line: LogLine, atOnce: Int, now: Instant) -> [LogLine] {
        if let place = kept.firstIndex(where: { $0.line == line }) {
            guard kept[place].said >= atOnce else {
                kept[place].said += 1
                return [line]
            }
            kept[place].counted += 1
            return []
        }
        var told: [LogLine] = []
        if kept.count == LogFolding.maxLines { told = account(of: kept.removeFirst(), now: now) }
        kept.append(Kept(line: line, until: now + LogFolding.window, said: 1))
        return told + [line]
    }

    /// What the windows that are over have counted. What was counted begins another one.
    mutating func timePassed(now: Instant) -> [LogLine] {
        var told: [LogLine] = []
        while let first = kept.first, first.until <= now {
            kept.removeFirst()
            told += account(of: first, now: now)
            if first.counted > 0 {
                kept.append(Kept(line: first.line, until: now + LogFolding.window, said: first.said))
            }
        }
        return told
    }

    /// Everything that was counted, as nothing more will be said.
    mutating func end(now: Instant) -> [LogLine] {
        defer { kept = [] }
        return kept.flatMap { account(of: $0, now: now) }
    }

    private func account(of kept: Kept, now: Instant) -> [LogLine] {
        guard kept.counted > 0 else { return [] }
        let began = kept.until - LogFolding.window
        return [kept.line.again(kept.counted, inSeconds: max(1, Int(began.duration(to: now).components.seconds)))]
    }
}
