// The text of a bug report: its preface, its bounds, and what is removed from its lines.

import Settings
import Testing

@testable import httpdnsctl

@Suite("Bug report")
struct BugReportTests {
    private typealias Section = BugReport.Section

    private func report(_ sections: [Section]) -> BugReport {
        BugReport(time: "2026-11-21 12:34:56Z", sections: sections, redaction: ReportRedaction(.defaults))
    }

    @Test("the preface says what to look for, what is left out, and what is missing for which reason")
    func preface() {
        let report = report([
            Section(title: "versions", content: .text("httpdnsctl 0.1.0\n")),
            Section(title: "status", content: .missing("no daemon")),
            Section(title: "stats", content: .missing("no daemon")),
            Section(title: "log", content: .missing("journalctl is not installed")),
            Section(title: "recorder", content: .latest("a\nb")),
        ])
        #expect(
            report.text == """
                Read this file before you attach it: it contains names that this machine resolved, and addresses of \
                its networks.
                Remove what you do not want to show, for example host names of providers that contain your account.

                Left out: keys, accounts, users of proxies, values in errors of the settings, addresses of clients, the
                          path of a provider's URL unless it is a common one such as /dns-query, and what
                          [provider.template] puts into a request. "(removed)" stands for them.
                Missing: status, stats: no daemon
                         log: journalctl is not installed

                httpdnsctl report-bug, 2026-11-21 12:34:56Z

                == versions ==
                httpdnsctl 0.1.0

                == status ==
                missing: no daemon

                == stats ==
                missing: no daemon

                == log ==
                missing: journalctl is not installed

                == recorder ==
                a
                b

                """)
        #expect(report.missing == ["status, stats: no daemon", "log: journalctl is not installed"])
        #expect(self.report([]).text.contains("Missing: nothing\n"))
    }

    @Test("a long section loses whole lines at its end, and one of events at its beginning")
    func bounds() {
        let lines = (1...20_000).map { "line \($0)" }.joined(separator: "\n")
        let text = report([Section(title: "stats", content: .text(lines))]).text
        #expect(
            text.contains("\nline 1\n") && !text.contains("line 20000\n") && text.hasSuffix(" last lines left out)\n"))
        let latest = report([Section(title: "recorder", content: .latest(lines))]).text
        #expect(!latest.contains("\nline 1\n") && latest.hasSuffix("\nline 20000\n"))
        #expect(latest.contains(" first lines left out)\nline "))
    }

    @Test("the whole report has at most 1 MiB, whatever the sections hold")
    func wholeBound() {
        let contents: [Section.Content] = [
            .text(String(repeating: "x", count: 3 << 20)), .latest(String(repeating: "x\n", count: 1 << 20)),
            .text(String(repeating: "\u{1B}[2J\n", count: 1 << 18)),
        ]
        let sections = (0..<BugReport.maxSections).map { Section(title: "a", content: contents[$0 % contents.count]) }
        let text = report(sections).text
        #expect(text.utf8.count <= 1 << 20)
        #expect(!text.contains("\u{1B}"))
    }

    @Test(
        "values in errors of the settings and clients in the query log are removed",
        arguments: [
            ("f:2:8: provider.account: found \"hunter2\"; allowed: x", "f:2:8: provider.account: found (removed)"),
            ("/l1:3:1: found \"i!.example\"; allowed: x", "/l1:3:1: found \"i!.example\"; allowed: x"),
            ("/l2:3:1: found \"i!.example\"; allowed: x", "/l2:3:1: found (removed)"),
            ("f:3:1: syntax: found hunter2; write \"hunter2\"", "f:3:1: syntax: found (removed)"),
            (
                "f:4:9: syntax: a , is missing in the array: write , behind \"hunter2\"",
                "f:4:9: syntax: a , is missing in the array: write (removed)"
            ),
            (
                "answered www.example.com A cache, NOERROR, 14 us, udp, from 192.0.2.7",
                "answered www.example.com A cache, NOERROR, 14 us, udp, from (removed)"
            ),
            ("answered a A cache, from 2001:db8::7", "answered a A cache, from (removed)"),
            ("a, from b, from 192.0.2.7", "a, from b, from (removed)"),
            ("{\"client\":\"192.0.2.7\",\"event\":\"query\"}", "{\"client\":\"(removed)\",\"event\":\"query\"}"),
            ("q, from 192.0.2.7 x, from 2001:db8::1 [x]", "q, from (removed) x, from (removed) [x]"),
            ("asked, from 192.0.2.7:5353", "asked, from (removed)"), (", from [2001:db8::1]:53.", ", from (removed)"),
            (", from 192.0.2.7, late", ", from (removed), late"), (", from 192.0.2.7 ", ", from (removed) "),
            (
                "{\"client\":\"192.0.2.7\",\"client\":\"192.0.2.8\"}{\"client\":\"",
                "{\"client\":\"(removed)\",\"client\":\"(removed)\"}{\"client\":\"(removed)"
            ),
            ("answer of resolv.conf, from /etc", "answer of resolv.conf, from /etc"),
            ("found no problem; checked: settings", "found no problem; checked: settings"),
        ])
    func lines(line: String, expected: String) {
        var settings = Settings.defaults
        settings.rules = [Settings.Rule(match: [])]
        settings.rules[0].matchFiles = ["/l1"]
        #expect(ReportRedaction(settings).line(line.utf8) == expected)
    }

    @Test("what the settings hold as a secret is removed from every line, but not a short number")
    func secrets() {
        var settings = Settings.defaults
        settings.providers[0].account = "canary-account"
        settings.providers[1].account = "100"
        settings.providers[2].accessKey = "canary"
        settings.providers[3].keyFile = "pasted-key"
        let redaction = ReportRedaction(settings)
        #expect(
            redaction.line("a canary-account, canary, pasted-key, 100 hits".utf8)
                == "a (removed), (removed), (removed), 100 hits")
        #expect(redaction.line("pasted-key\u{301}".utf8) == "(removed)\u{301}")
        #expect(redaction.line("pasted-kepasted-keypasted-key".utf8) == "pasted-ke(removed)(removed)")
    }

    @Test("a secret or a client across the place at which a long line is cut leaves nothing of itself")
    func secretsAcrossTheCut() {
        var settings = Settings.defaults
        settings.providers[0].keyFile = "hunter2-" + String(repeating: "k", count: 64)
        settings.providers[1].account = "canary"
        let redaction = ReportRedaction(settings)
        let (key, client) = (settings.providers[0].keyFile ?? "", ", from 192.0.2.7")
        for filler in stride(from: (8 << 10) - 100, to: (8 << 10) + 400, by: 29) {
            // Short secrets in front move the cut to another place of the line.
            for front in ["", String(repeating: "canary ", count: 500)] {
                let start = front + String(repeating: "x", count: filler - front.utf8.count)
                for line in [start + client, start + key, start + key + String(repeating: "y", count: 2000)] {
                    let shown = redaction.line(line.utf8)
                    #expect(!shown.contains("hunter") && !shown.contains("192.0") && shown.utf8.count <= 8 << 10)
                }
            }
        }
    }

    @Test("sections of many megabytes are cut before their secrets are searched for")
    func flood() {
        var settings = Settings.defaults
        for index in settings.providers.indices { settings.providers[index].account = "canary-\(index)" }
        let flood = String(repeating: "a canary-1 and more\n", count: 1 << 19)
        let sections = (0..<2).map { index in
            Section(title: "a", content: index.isMultiple(of: 2) ? .text(flood) : .latest(flood))
        }
        let report = BugReport(time: "t", sections: sections, redaction: ReportRedaction(settings))
        #expect(!report.text.contains("canary") && report.text.utf8.count <= 1 << 20)
    }
}
