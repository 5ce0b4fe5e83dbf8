// Repeated log lines and the operator's level, on the test's own clock.

import Control
import DNSWire
import LinuxIO
import Testing

@testable import Daemon

/// A `LogFolding` with reference semantics, for use within an expectation.
private final class Folding {
    private var folding = LogFolding()

    var nextDeadline: Instant? { folding.nextDeadline }

    func take(_ line: LogLine, atOnce: Int, now: Instant) -> [LogLine] { folding.take(line, atOnce: atOnce, now: now) }

    func timePassed(now: Instant) -> [LogLine] { folding.timePassed(now: now) }

    func end(now: Instant) -> [LogLine] { folding.end(now: now) }
}

@Suite("Folding of the log")
struct LogFoldingTests {
    private let start = Clock.now()
    private let fails = LogLine(.warning, "provider-down", "a fails")
    private let answers = LogLine(.info, "provider-up", "a answers")

    private func texts(_ lines: [LogLine]) -> [String] { lines.map(\.text) }

    @Test("the first is said at once, repeats are counted and told after a minute")
    func repeats() {
        let folding = Folding()
        #expect(texts(folding.take(fails, atOnce: 1, now: start)) == ["a fails"])
        for second in 1...12 {
            #expect(folding.take(fails, atOnce: 1, now: start + .seconds(second)).isEmpty)
        }
        #expect(folding.nextDeadline == start + .seconds(60))
        #expect(folding.timePassed(now: start + .seconds(59)).isEmpty)
        let told = folding.timePassed(now: start + .seconds(60))
        #expect(texts(told) == ["a fails (again 12 times in 60 s)"])
        #expect(told.first?.fields == ["times": .number(12), "seconds": .number(60)])
    }

    @Test("a flood is a line a minute, and its end is silent")
    func flood() {
        let folding = Folding()
        var said: [String] = []
        for millisecond in stride(from: 0, to: 180_000, by: 100) {
            let now = start + .milliseconds(millisecond)
            said += texts(folding.timePassed(now: now) + folding.take(fails, atOnce: 1, now: now))
        }
        said += texts(folding.timePassed(now: start + .seconds(180)))
        #expect(
            said == [
                "a fails", "a fails (again 599 times in 60 s)", "a fails (again 600 times in 60 s)",
                "a fails (again 600 times in 60 s)",
            ])
        #expect(folding.timePassed(now: start + .seconds(240)).isEmpty)
        #expect(folding.nextDeadline == nil)
        #expect(texts(folding.take(fails, atOnce: 1, now: start + .seconds(241))) == ["a fails"])
    }

    @Test("different lines don't fold into each other, and a state that goes to and fro is said a few times")
    func changes() {
        let folding = Folding()
        var said: [String] = []
        for _ in 0..<5 {
            said += texts(folding.take(fails, atOnce: 3, now: start))
            said += texts(folding.take(answers, atOnce: 3, now: start))
        }
        #expect(said == ["a fails", "a answers", "a fails", "a answers", "a fails", "a answers"])
        #expect(
            texts(folding.end(now: start + .seconds(5)))
                == ["a fails (again 2 times in 5 s)", "a answers (again 2 times in 5 s)"])
    }

    @Test("no more than 64 different lines are kept: the oldest is told and makes room")
    func bound() {
        let folding = Folding()
        _ = folding.take(fails, atOnce: 1, now: start)
        _ = folding.take(fails, atOnce: 1, now: start)
        for number in 1..<LogFolding.maxLines {
            _ = folding.take(LogLine(.info, "e", "\(number)"), atOnce: 1, now: start)
        }
        let said = folding.take(answers, atOnce: 1, now: start + .seconds(10))
        #expect(texts(said) == ["a fails (again 1 time in 10 s)", "a answers"])
        #expect(texts(folding.take(fails, atOnce: 1, now: start + .seconds(10))) == ["a fails"])
    }
}

@Suite("Level of the log")
struct LogLevelsTests {
    private let start = Clock.now()

    @Test("a level for a while ends by itself, once")
    func forAWhile() {
        var levels = LogLevels(settings: .info)
        levels.set(.debug, seconds: 60, now: start)
        #expect(levels.report(now: start).sentence == "log level is debug for 1m, then info")
        #expect(levels.nextDeadline == start + .seconds(60))
        let endsEarly = levels.timePassed(now: start + .milliseconds(59_999))
        #expect(!endsEarly)
        #expect(levels.level == .debug)
        #expect(levels.report(now: start + .milliseconds(59_999)).secondsLeft == 1)
        let hasEnded = levels.timePassed(now: start + .seconds(60))
        #expect(hasEnded)
        #expect(levels.level == .info)
        let endsAgain = levels.timePassed(now: start + .seconds(61))
        #expect(!endsAgain)
    }

    @Test("a level without an end holds until the next change")
    func withoutEnd() {
        var levels = LogLevels(settings: .info)
        levels.set(.debug, seconds: 60, now: start)
        levels.set(.error, seconds: nil, now: start)
        #expect(levels.nextDeadline == nil)
        let hasEnded = levels.timePassed(now: start + .seconds(86_400))
        #expect(!hasEnded)
        #expect(levels.level == .error)
        #expect(LogLevels(settings: .warning).level == .warning)
    }
}
