// The doctor's output, for people and for scripts.

import Testing

@testable import Control

@Suite("The doctor's report")
struct DoctorReportTests {
    private func finding(_ gravity: String, _ text: String = "seen") -> DoctorReport.Finding {
        DoctorReport.Finding(gravity: gravity, subject: "clock", text: text, remedy: "do")
    }

    @Test("each finding is a line with its remedy, and the last line says what was looked at")
    func text() {
        let report = DoctorReport(findings: [finding("fault"), finding("note")], checked: ["daemon", "clock"])
        #expect(
            report.rendered(asJSON: false)
                == "fault: clock: seen; remedy: do\nnote: clock: seen; remedy: do\nchecked: daemon, clock\n")
        #expect(report.hasFindings)
    }

    @Test("notes are no findings")
    func notes() {
        let report = DoctorReport(findings: [finding("note")], checked: ["clock"])
        #expect(!report.hasFindings)
        #expect(report.rendered(asJSON: false).hasSuffix("\nfound no problem; checked: clock\n"))
    }

    @Test("as JSON it is one object on one line")
    func object() {
        #expect(
            DoctorReport(findings: [finding("warning")], checked: ["clock"]).rendered(asJSON: true)
                == "{\"checked\":[\"clock\"],\"findings\":[{\"gravity\":\"warning\",\"remedy\":\"do\","
                + "\"subject\":\"clock\",\"text\":\"seen\"}],\"schema\":1}\n")
    }

    @Test("what a stranger wrote into a file can't drive a terminal, nor fill it")
    func hostile() {
        let hostile = finding("fault", "\u{1B}[2J\n\u{202E}" + String(repeating: "x", count: 10_000))
        #expect(hostile.text.hasPrefix("\\u{1B}[2J\\n\\u{202E}xxx") && hostile.text.utf8.count <= 1024)
    }

    @Test("where the daemon listens is read from what it says of itself, and nothing from anything else")
    func listeners() {
        let status = StatusReport(uptimeSeconds: 1, processID: 2, listeners: ["127.0.0.1:53"], threads: 1)
        let answer = Array(status.rendered(asJSON: true).utf8)
        #expect(StatusReport(answer: answer)?.listeners == ["127.0.0.1:53"])
        #expect(StatusReport(answer: Array("error: no\n".utf8)) == nil && StatusReport(answer: [0xFF]) == nil)
    }
}
