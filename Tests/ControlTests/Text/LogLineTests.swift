// One event in the three forms of the log, with any content.

import Control
import TestSupport
import Testing

@Suite("Lines of the log")
struct LogLineTests {
    private let line = LogLine(
        .warning, "provider-down", "provider a fails: timeout",
        fields: ["provider": .text("a"), "tries": .number(3), "servers": .list(["x", "y"])])

    @Test("a terminal gets the program's name, the journal a priority, and a program an object")
    func forms() {
        #expect(line.plain == "httpdnsd: provider a fails: timeout\n")
        #expect(line.forJournal == "<4>provider a fails: timeout\n")
        #expect(
            line.object(at: 1_795_287_296_007)
                == #"{"event":"provider-down","level":"warning","provider":"a","servers":["x","y"],"#
                + #""text":"provider a fails: timeout","time":"2026-11-21T18:54:56.007Z","tries":3}"# + "\n")
    }

    @Test(
        "each level has the priority that syslog gives it",
        arguments: [(LogLevel.error, 3), (.warning, 4), (.info, 6), (.debug, 7)])
    func priorities(_ level: LogLevel, _ priority: Int) {
        #expect(LogLine(level, "e", "t").forJournal == "<\(priority)>t\n")
    }

    @Test("details take a line each, all of them with their priority")
    func details() {
        let refused = LogLine(.error, "settings-refused", "not reloaded:", details: ["a:1: no", "a:2: no"])
        #expect(refused.plain == "httpdnsd: not reloaded:\n  a:1: no\n  a:2: no\n")
        #expect(refused.forJournal == "<3>not reloaded:\n<3>  a:1: no\n<3>  a:2: no\n")
        #expect(refused.object(at: 0).contains(#""details":["a:1: no","a:2: no"]"#))
        #expect(refused.object(at: 0).contains(#""time":"1970-01-01T00:00:00.000Z""#))
    }

    @Test("an entry of the journal has the event, and each value of each field")
    func entry() {
        #expect(
            String(decoding: line.journalEntry, as: UTF8.self) == """
                PRIORITY=4
                SYSLOG_IDENTIFIER=httpdnsd
                MESSAGE=provider a fails: timeout
                HTTPDNSD_EVENT=provider-down
                HTTPDNSD_PROVIDER=a
                HTTPDNSD_SERVERS=x
                HTTPDNSD_SERVERS=y
                HTTPDNSD_TRIES=3

                """)
        let refused = LogLine(.error, "settings-refused", "not reloaded:", details: ["a:1: no", "a:2: no"])
        // Its size, 33 bytes, in 8 bytes.
        let message = "MESSAGE\n\u{21}\0\0\0\0\0\0\0not reloaded:\n  a:1: no\n  a:2: no\nHTTPDNSD_EVENT="
        #expect(String(decoding: refused.journalEntry, as: UTF8.self).contains(message))
    }

    @Test("words of strangers begin no line, take no priority and move no cursor")
    func hostile() {
        let seed: UInt64 = 0x10_6C_1E
        var random = SeededRandom(seed: seed)
        let pieces = [
            "\n", "\r", "\u{1B}[2J", "\u{2028}", "<0>", "httpdnsd: ", "\u{202E}", "\0", "é", "\u{7F}", "\u{9B}",
        ]
        for round in 0..<500 {
            let text = (0..<8).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            let line = LogLine(.info, "e", text, details: [text], fields: ["name": .text(text), "list": .list([text])])
            for form in [line.plain, line.forJournal, line.object(at: 1)] {
                let allowed = form == line.object(at: 1) ? 1 : 2
                #expect(form.utf8.filter { $0 == UInt8(ascii: "\n") }.count == allowed, "seed \(seed) round \(round)")
                let isTame = form.unicodeScalars.allSatisfy { scalar in
                    scalar == "\n" || scalar == "é" || (0x20..<0x7F).contains(scalar.value)
                }
                #expect(isTame, "seed \(seed) round \(round): \(form.debugDescription)")
            }
            let names = line.journalEntry.split(separator: UInt8(ascii: "\n")).map { line in
                String(decoding: line.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
            }
            #expect(names.count { $0 == "HTTPDNSD_EVENT" || $0 == "PRIORITY" } == 2, "seed \(seed) round \(round)")
        }
    }

    @Test("a text without end is cut")
    func length() {
        let long = LogLine(.info, "e", String(repeating: "x", count: 100_000))
        #expect(long.plain.utf8.count < 5000)
    }

    @Test("a level says what is at least as urgent")
    func levels() {
        let logged = LogLevel.allCases.map { level in LogLevel.allCases.filter { $0.isLogged(at: level) } }
        #expect(logged == [[.error], [.error, .warning], [.error, .warning, .info], LogLevel.allCases])
    }

    @Test("the level's report says until when it holds")
    func levelReport() {
        let reports = [
            LogLevelReport(level: .info, levelOfSettings: .info),
            LogLevelReport(level: .debug, levelOfSettings: .info),
            LogLevelReport(level: .debug, secondsLeft: 600, levelOfSettings: .warning),
        ]
        #expect(
            reports.map(\.sentence) == [
                "log level is info, as in the settings",
                "log level is debug, until the next change or reload (settings: info)",
                "log level is debug for 10m, then warning",
            ])
    }
}
