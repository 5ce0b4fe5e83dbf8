// What `setup` says at its end, and the commands that it names.

import Control
import Testing

@Suite("The report of setup")
struct SetupReportTests {
    private func report(_ daemon: SetupReport.Daemon, former: String? = nil, needRestart: [String] = []) -> SetupReport
    {
        var report = SetupReport(path: "/etc/httpdnsd/httpdnsd.toml", former: former)
        report.daemon = daemon
        report.needRestart = needRestart
        return report
    }

    private func next(_ report: SetupReport, takesOver: Bool = false, isStandardFile: Bool = true) -> [String] {
        SetupReport.next(report, takesOver: takesOver, isStandardFile: isStandardFile)
    }

    @Test("the next commands depend on the daemon, and on whether it is used already")
    func nextCommands() {
        let (start, use) = ("sudo systemctl start httpdnsd", "sudo httpdnsctl system use")
        let own = "sudo httpdnsd --config /etc/httpdnsd/httpdnsd.toml"
        #expect(next(report(.absent)) == [start, use])
        #expect(next(report(.absent), takesOver: true) == [start, use])
        #expect(next(report(.absent), isStandardFile: false) == [own, use])
        #expect(next(report(.reloaded)) == ["sudo httpdnsctl doctor", use])
        #expect(next(report(.reloaded), takesOver: true) == [])
        let restart = report(.reloaded, needRestart: ["server.listen"])
        #expect(next(restart) == ["sudo systemctl restart httpdnsd", use])
        #expect(next(restart, takesOver: true) == ["sudo systemctl restart httpdnsd"])
        #expect(next(report(.readsAnotherFile)) == [own])
        #expect(next(report(.refuses)) == ["sudo rm /etc/httpdnsd/httpdnsd.toml"])
        #expect(
            next(report(.refuses, former: "/etc/httpdnsd/a b"))
                == ["sudo mv '/etc/httpdnsd/a b' /etc/httpdnsd/httpdnsd.toml"])
    }

    @Test("text and JSON")
    func rendered() {
        var report = report(.refuses, former: "/etc/httpdnsd/httpdnsd.toml.old-1")
        report.findings = ["a finding"]
        report.keyFile = "/etc/httpdnsd/baidu.key"
        #expect(
            report.rendered(asJSON: false) == """
                wrote /etc/httpdnsd/httpdnsd.toml
                kept the former file as /etc/httpdnsd/httpdnsd.toml.old-1
                wrote the key to /etc/httpdnsd/baidu.key
                a finding
                the daemon refuses the new settings, and keeps its former ones until a restart, which fails

                """)
        #expect(
            report.rendered(asJSON: true) == """
                {"daemon":"refuses","findings":["a finding"],"former":"/etc/httpdnsd/httpdnsd.toml.old-1",\
                "key_file":"/etc/httpdnsd/baidu.key","need_restart":[],"next":[],"path":"/etc/httpdnsd/httpdnsd.toml"}

                """)
    }

    @Test("the next commands are a text of their own")
    func nextText() {
        var report = report(.reloaded)
        #expect(report.nextText.isEmpty)
        report.next = ["one", "two"]
        #expect(report.nextText == "Next:\n    one\n    two\n")
    }

    @Test("the daemon's answers to a reload are understood")
    func reload() {
        let done = Array(Reply.reloaded(ReloadReport(needRestart: ["server.listen"])).rendered(asJSON: true).utf8)
        #expect(ReloadReport(answer: done)?.needRestart == ["server.listen"])
        let refused = Array(Reply.notReloaded(["a", "b"]).rendered(asJSON: true).utf8)
        #expect(ReloadReport(answer: refused) == nil)
        #expect(ReloadRefusal(answer: refused)?.reasons == ["a", "b"])
        let forbidden = Array(Reply.refusal(Refusal("not for you")).rendered(asJSON: true).utf8)
        #expect(ReloadRefusal(answer: forbidden)?.reasons == ["not for you"])
    }

    @Test(
        "a text as a word of a shell",
        arguments: [("a/b-1.2", "a/b-1.2"), ("", "''"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("$x", "'$x'")])
    func words(_ text: String, _ word: String) {
        #expect(shellWord(text) == word)
    }
}
