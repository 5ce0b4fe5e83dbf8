// The last lines of `setup`, and the commands that they name.

import Control
import Testing

@testable import httpdnsctl

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
        var report = report
        report.isTakeOverAsked = takesOver
        report.setNext(isStandardFile: isStandardFile)
        return report.next
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
        for takesOver in [true, false] {
            let other = report(.readsAnotherFile)
            #expect(next(other, takesOver: takesOver) == ["sudo systemctl restart httpdnsd", use])
            #expect(next(other, takesOver: takesOver, isStandardFile: false) == [own, use])
        }
        #expect(next(report(.doesNotReload)) == ["sudo httpdnsctl reload", use])
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
            report.text(in: .english) == """
                wrote /etc/httpdnsd/httpdnsd.toml
                kept the former file as /etc/httpdnsd/httpdnsd.toml.old-1
                wrote the key to /etc/httpdnsd/baidu.key
                a finding
                the running daemon refuses this file, and continues with its former settings
                correct this file before the next restart, or put the former one back

                """)
        #expect(
            report.jsonLine == """
                {"daemon":"refuses","findings":["a finding"],"former":"/etc/httpdnsd/httpdnsd.toml.old-1",\
                "key_file":"/etc/httpdnsd/baidu.key","left_out":[],"need_restart":[],"next":[],\
                "path":"/etc/httpdnsd/httpdnsd.toml","take_over_asked":false}

                """)
    }

    @Test("the text is Chinese in a Chinese locale, and JSON is English")
    func chinese() {
        var report = report(.reloaded, former: "/f.old-1", needRestart: ["server.listen"])
        report.leftOut = ["lines \(3) to \(7): \("table \("view")" as LocalizedText)"]
        report.next = ["sudo httpdnsctl doctor"]
        #expect(
            report.text(in: .chinese) == """
                已写入 /etc/httpdnsd/httpdnsd.toml
                原文件已保存为 /f.old-1
                原文件中没有保留的部分：
                    第 3 至 7 行：表 view
                设置已重新加载；以下各项需要重启才能生效：server.listen

                """)
        #expect(report.nextText(in: .chinese) == "接下来请运行：\n    sudo httpdnsctl doctor\n")
        #expect(report.jsonLine.contains("\"left_out\":[\"lines 3 to 7: table view\"]"))
    }

    @Test("a refusal that is not about the file does not blame it")
    func forbidden() {
        var report = report(.doesNotReload)
        report.findings = ["reload is for root"]
        #expect(
            report.text(in: .english) == """
                wrote /etc/httpdnsd/httpdnsd.toml
                reload is for root
                the running daemon has not read this file yet

                """)
    }

    @Test("only a daemon with this file takes over, and another outcome is named")
    func takeOver() {
        for (daemon, isTaken) in [
            (SetupReport.Daemon.absent, false), (.readsAnotherFile, false), (.reloaded, true), (.doesNotReload, false),
            (.refuses, false),
        ] {
            var report = report(daemon)
            #expect(!report.takesOver)
            report.isTakeOverAsked = true
            #expect(report.takesOver == isTaken)
            #expect(report.text(in: .english).contains("nothing was taken over") != isTaken)
        }
        var other = report(.readsAnotherFile)
        other.daemonFile = "/srv/other.toml"
        #expect(
            other.text(in: .english) == """
                wrote /etc/httpdnsd/httpdnsd.toml
                the running daemon reads /srv/other.toml, and not this one
                stop that daemon before you start one with this file

                """)
    }

    @Test("the next commands are a text of their own")
    func nextText() {
        var report = report(.reloaded)
        #expect(report.nextText(in: .english).isEmpty)
        report.next = ["one", "two"]
        #expect(report.nextText(in: .english) == "Next:\n    one\n    two\n")
    }

    @Test("the daemon's answers to a reload are understood")
    func reload() {
        let done = Array(ReloadReport(needRestart: ["server.listen"]).rendered(asJSON: true).utf8)
        #expect(ReloadReport(answer: done)?.needRestart == ["server.listen"])
        let refused = Array(Reply.notReloaded(["a", "b"]).rendered(asJSON: true).utf8)
        #expect(ReloadReport(answer: refused) == nil)
        #expect(ReloadRefusal(answer: refused)?.reasons == ["a", "b"])
        #expect(ReloadRefusal(answer: refused)?.isOfSettings == true)
        let forbidden = Array(Reply.refusal(Refusal("not for you")).rendered(asJSON: true).utf8)
        #expect(ReloadRefusal(answer: forbidden)?.reasons == ["not for you"])
        #expect(ReloadRefusal(answer: forbidden)?.isOfSettings == false)
    }

    @Test(
        "a text as a word of a shell",
        arguments: [("a/b-1.2", "a/b-1.2"), ("", "''"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("$x", "'$x'")])
    func words(_ text: String, _ word: String) {
        #expect(shellWord(text) == word)
    }
}
