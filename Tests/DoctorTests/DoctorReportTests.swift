// The doctor's output, for people and for scripts.

import Control
import Testing

@testable import httpdnsctl

@Suite("The doctor's report")
struct DoctorReportTests {
    private static let subjects = Subject.allCases.map(\.rawValue)
    private static let checked = "checked: \(subjects.joined(separator: ", "))\n"

    private func finding(_ gravity: Finding.Gravity, _ text: LocalizedText = "no answer") -> Finding {
        Finding(gravity, .clock, text, remedy: LocalizedText(verbatim: "date -u"))
    }

    @Test("each finding is a line with its remedy, and the last line says what was looked at")
    func text() {
        let report = DoctorReport([finding(.fault), finding(.note)])
        #expect(
            report.text(in: .english)
                == "fault: clock: no answer; remedy: date -u\nnote: clock: no answer; remedy: date -u\n"
                + DoctorReportTests.checked)
        #expect(report.hasFindings)
    }

    @Test("in Chinese, the same lines are Chinese, and commands stay")
    func chinese() {
        let lines = DoctorReport([finding(.fault)]).text(in: .chinese).split(separator: "\n")
        #expect(lines.first == "故障：时钟：没有应答。处理办法：date -u")
        #expect(lines.last?.hasPrefix("已检查：设置、守护进程、53 端口、resolv.conf、nsswitch、时钟、") == true)
        #expect(DoctorReport([]).text(in: .chinese).hasPrefix("没有发现问题。已检查：设置、"))
    }

    @Test("notes are no findings")
    func notes() {
        let report = DoctorReport([finding(.note)])
        #expect(!report.hasFindings)
        #expect(report.text(in: .english).hasSuffix("\nfound no problem; \(DoctorReportTests.checked)"))
    }

    @Test("as JSON it is one object on one line, in English")
    func object() {
        let checked = DoctorReportTests.subjects.map { "\"\($0)\"" }.joined(separator: ",")
        #expect(
            DoctorReport([finding(.warning)]).jsonLine
                == "{\"checked\":[\(checked)],\"findings\":[{\"gravity\":\"warning\",\"remedy\":\"date -u\","
                + "\"subject\":\"clock\",\"text\":\"no answer\"}],\"schema\":1}\n")
    }

    @Test("what a stranger wrote into a file can't drive a terminal, nor fill it")
    func hostile() {
        let hostile = "\u{1B}[2J\n\u{202E}" + String(repeating: "x", count: 10_000)
        let report = DoctorReport([finding(.fault, "can't be read: \(hostile)")])
        let line = report.text(in: .english).split(separator: "\n")[0]
        #expect(line.contains("\\u{1B}[2J\\n\\u{202E}xxx") && line.utf8.count <= 2048)
        #expect(report.jsonLine.contains("\\\\u{1B}[2J") && report.jsonLine.utf8.count <= 2048)
    }

    @Test("the title of a subject is its name in JSON")
    func titles() {
        #expect(Subject.allCases.map(\.title.english) == DoctorReportTests.subjects)
        #expect(Finding.Gravity.allCases.allSatisfy { $0.title.english == $0.rawValue })
    }
}
