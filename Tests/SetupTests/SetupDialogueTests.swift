// The dialogue of `httpdnsctl setup` with typed lines: its questions, the meaning of a line, and repeated questions.

import Control
import DNSWire
import LinuxIO
import Testing

@testable import httpdnsctl

@Suite("The dialogue of setup")
struct SetupDialogueTests {
    private func dialogue(_ line: String = "", _ machine: SetupMachine = sampleMachine) throws -> SetupDialogue {
        SetupDialogue(try answers(line, machine), output: "/etc/httpdnsd/httpdnsd.toml", former: nil)
    }

    /// Types the lines; returns the complaints.
    private func type(_ lines: [String], into dialogue: inout SetupDialogue) -> [String] {
        lines.compactMap { line in
            do throws(SetupRefusal) {
                try dialogue.take(line)
                return nil
            } catch {
                return error.reason.english
            }
        }
    }

    @Test("Enter alone takes what stands in brackets")
    func defaults() throws {
        var asked = try dialogue()
        #expect(type(["", "", "", "", ""], into: &asked) == [])
        #expect(asked.isAccepted)
        let same = "--providers alidns,dnspod,google,cloudflare --account no --lan no --take-over no"
        #expect(try asked.answers.settingsFile() == answers(same).settingsFile())
    }

    @Test("numbers, names and other values give the same answers as flags")
    func values() throws {
        var asked = try dialogue()
        let lines = ["1, cloudflare", "yes", "volcengine", "1023", "", "2 3", "2", "y"]
        #expect(type(lines, into: &asked) == [])
        #expect(asked.isAccepted)
        let same =
            "--providers alidns,cloudflare --account volcengine --account-id 1023 "
            + "--key-file /etc/httpdnsd/volcengine.key --lan 192.168.7.5,fd00::5 --take-over yes"
        #expect(try asked.answers.settingsFile() == answers(same).settingsFile())
    }

    @Test("the addresses of a pasted provider are those of this machine's resolver, if the operator confirms them")
    func resolved() throws {
        var machine = sampleMachine
        machine.resolve = { $0 == "a.example" ? [.v4(0xC000_0201), .v6(high: 0x2001_0DB8_0000_0000, low: 1)] : [] }
        var asked = try dialogue("--account no --lan no --take-over no", machine)
        #expect(type(["6 https://b.example/q https://a.example/dns-query{?dns}"], into: &asked) == [])
        #expect(asked.question?.usual == nil && asked.question?.prompt == "Addresses of b.example")
        #expect(asked.question?.lines.last == "This machine's resolver finds no address of b.example.")
        #expect(type(["", "b.example"], into: &asked).count == 2)
        #expect(type(["198.51.100.7 2001:db8::7"], into: &asked) == [])
        #expect(
            asked.question?.text(in: .english).hasSuffix("   Addresses of a.example [192.0.2.1 2001:db8::1]: ") == true)
        #expect(type(["", "yes"], into: &asked) == [])
        let same =
            "--providers quad9,https://b.example/q,https://a.example/dns-query --account no --lan no --take-over no "
            + "--provider-addresses "
            + "b.example=198.51.100.7,b.example=2001:db8::7,a.example=192.0.2.1,a.example=2001:db8::1"
        #expect(asked.isAccepted)
        #expect(try asked.answers.settingsFile() == answers(same).settingsFile())
    }

    @Test("without a terminal, the addresses of a pasted provider are an answer that is missing")
    func unresolved() throws {
        let given = try answers("--providers https://a.example/q --account no --lan no --take-over no")
        #expect(given.missing == [.providerAddresses])
    }

    @Test("a wrong answer is refused, and the question stays")
    func refused() throws {
        var asked = try dialogue()
        for (wrong, reason) in [
            ("20", "found 20; allowed: 1 to 19"), ("0", "found 0; allowed: 1 to 19"),
            ("gogle", "found \"gogle\"; allowed: \(presets); did you mean \"google\"?"),
            ("18", "nextdns needs the id of your profile with NextDNS; write nextdns:ID with that id"),
        ] {
            #expect(type([wrong], into: &asked) == [reason])
            #expect(asked.question?.subject == .answer(.providers))
        }
        #expect(type(["19", "maybe", "2"], into: &asked) == ["found \"maybe\"; allowed: no, yes"])
        #expect(type(["", "y"], into: &asked) == ["an answer is needed here", "choose a number"])
        #expect(type(["8", "1"], into: &asked) == [])
        #expect(asked.question?.subject == .answer(.keyFile))
        let complaint = type(["hunter2"], into: &asked)
        #expect(complaint.count == 1 && !complaint[0].contains("hunter2"))
        #expect(asked.question?.subject == .answer(.keyFile))
    }

    @Test("y and n are answers wherever yes and no are")
    func short() throws {
        var asked = try dialogue("--providers google")
        #expect(type(["n", "n", "y", "Y"], into: &asked) == [])
        #expect(asked.isAccepted && asked.answers.account == .no && asked.answers.takesOver == true)
        asked = try dialogue("--providers google")
        #expect(type(["y", "n"], into: &asked) == [])
        #expect(asked.answers.account == .no)
    }

    @Test("an operator without an account can leave the list of services")
    func changedMind() throws {
        var asked = try dialogue("--providers google")
        #expect(type(["yes", "no"], into: &asked) == [])
        #expect(asked.answers.account == .no && asked.question?.subject == .answer(.lan))
    }

    @Test("what flags answer is not asked")
    func flagsFirst() throws {
        var asked = try dialogue("--providers google --account baidu --account-id 1 --lan no")
        #expect(asked.question?.subject == .answer(.keyFile))
        #expect(type(["/k"], into: &asked) == [])
        #expect(asked.question?.subject == .answer(.takeOver))
    }

    @Test("a key is asked for if its file does not exist, and is not shown")
    func key() throws {
        var machine = sampleMachine
        machine.keyFile = { _ in .missing }
        var asked = try dialogue("--providers none --lan no --take-over no", machine)
        #expect(type(["2", "baidu", "1", ""], into: &asked) == [])
        let question = try #require(asked.question)
        #expect(question.subject == .key && question.isHidden)
        #expect(type([""], into: &asked).count == 1)
        #expect(type(["hunter2", "yes"], into: &asked) == [])
        #expect(asked.answers.key == "hunter2" && asked.isAccepted)
    }

    @Test("an address of no interface needs its network")
    func unknownNetwork() throws {
        var asked = try dialogue("--providers google --account no --take-over no")
        #expect(type(["198.51.100.1"], into: &asked) == [])
        #expect(asked.question?.subject == .answer(.allow))
        #expect(asked.question?.lines == ["No interface of this machine has the address 198.51.100.1."])
        #expect(type(["198.51.100.0/24"], into: &asked) == [])
        #expect(asked.question?.subject == .confirmation)
    }

    @Test("an interface with the prefix length 32 names no network")
    func noNetwork() throws {
        let point = InterfaceAddress(interface: "ppp0", address: .v4(0xC633_6401), prefixLength: 32)
        var asked = try dialogue(
            "--providers google --account no --take-over no", SetupMachine(addresses: [point]))
        #expect(type(["198.51.100.1"], into: &asked) == [])
        #expect(asked.question?.lines == ["This machine knows no network of 198.51.100.1."])
    }

    @Test("without root, the take-over is not asked")
    func unprivileged() throws {
        var machine = sampleMachine
        machine.isRoot = false
        var asked = try dialogue("", machine)
        #expect(type(["", "", ""], into: &asked) == [])
        #expect(asked.question?.subject == .confirmation)
    }

    @Test("a dry run has neither a take-over nor a confirmation")
    func dryRun() throws {
        var machine = sampleMachine
        machine.isDryRun = true
        var asked = try dialogue("", machine)
        #expect(!asked.isAccepted)
        #expect(type(["", "", ""], into: &asked) == [])
        #expect(asked.isAccepted)
    }

    @Test("no ends the dialogue without a file")
    func declined() throws {
        var asked = try dialogue()
        #expect(type(["", "", "", "", "perhaps"], into: &asked) == ["found \"perhaps\"; allowed: yes, no"])
        #expect(type(["no"], into: &asked) == [])
        #expect(asked.question == nil && !asked.isAccepted)
    }

    @Test("every question fits into 100 columns and names its default")
    func layout() throws {
        var asked = try dialogue()
        var texts: [String] = [SetupDialogue.greeting.english]
        for line in ["1 3", "2", "9", "100", "192.0.2.1", "/etc/httpdnsd/ucloud.key", "2", "2", "yes"] {
            let question = try #require(asked.question)
            let text = question.text(in: .english)
            texts.append(text)
            if let usual = question.usual, question.choices.isEmpty { #expect(text.contains("[\(usual)]")) }
            #expect(type([line], into: &asked) == [])
        }
        for line in texts.flatMap({ $0.split(separator: "\n") }) { #expect(line.count <= 100, "\(line)") }
        #expect(
            texts[1] == """

                1. Which companies may see the names that are looked up here?
                   Each provider sees the names that it is asked for. With several, a bad one is avoided.
                   Another provider: paste its https:// URL or its sdns:// stamp.
                      1  alidns               Alibaba, China; blocks by Chinese rules; sends client subnets
                      2  dnspod               Tencent, China; blocks by Chinese rules
                      3  google               Google, United States; blocks nothing; sends client subnets
                      4  cloudflare           Cloudflare, United States; blocks nothing
                      5  cloudflare-security  Cloudflare, United States; blocks malware
                      6  quad9                Quad9, Switzerland; blocks malware
                      7  quad9-ecs            Quad9, Switzerland; blocks malware; sends client subnets
                      8  quad9-unfiltered     Quad9, Switzerland; blocks nothing
                      9  adguard              AdGuard, Cyprus; blocks malware, ads; sends other subnets
                     10  adguard-family       AdGuard, Cyprus; blocks malware, ads, adult sites; sends other subnets
                     11  adguard-unfiltered   AdGuard, Cyprus; blocks nothing; sends other subnets
                     12  mullvad              Mullvad, Sweden; blocks nothing
                     13  mullvad-base         Mullvad, Sweden; blocks malware, ads
                     14  dns-sb               xTom, Germany; blocks nothing
                     15  dns4eu               Whalebone, Czechia; blocks malware
                     16  controld-unfiltered  Control D, Canada; blocks nothing
                     17  controld:ID          Control D, Canada; blocks by your profile
                     18  nextdns:ID           NextDNS, United States; blocks by your profile
                     19  none                 your own account (question 2), or the network's nameservers
                   Answer, such as 1 3 [1 2 3 4]: \("")
                """)
        #expect(
            texts[9].contains("   names go to  Alibaba, Google, UCloud\n   last resort  the network's nameservers\n"))
        #expect(texts[9].contains("   clients      this machine, and 192.168.7.0/24 at 192.168.7.5:53\n"))
    }

    @Test("in Chinese, columns are aligned by their width, and every question fits into 100 columns")
    func chinese() throws {
        var asked = try dialogue()
        var texts: [String] = [SetupDialogue.greeting.text(in: .chinese)]
        for line in ["1 3", "2", "9", "100", "192.0.2.1", "/etc/httpdnsd/ucloud.key", "2", "2", "是"] {
            texts.append(try #require(asked.question).text(in: .chinese))
            #expect(type([line], into: &asked) == [])
        }
        #expect(asked.isAccepted)
        for line in texts.flatMap({ $0.split(separator: "\n") }) { #expect(line.columns <= 100, "\(line)") }
        #expect(texts[1].hasPrefix("\n1. 哪些公司可以看到本机查询的域名？\n   每个服务商都能看到"))
        #expect(texts[1].hasSuffix("   请回答，例如 1 3 [1 2 3 4]："))
        #expect(texts[2].contains("     1  no   没有账号\n     2  yes  有其中一家厂商的账号：阿里巴巴、腾讯、字节跳动、百度、UCloud\n"))
        #expect(
            texts[9].contains("   域名交给  阿里巴巴、Google、UCloud\n   最后使用  本网络的域名服务器\n"), "\(texts[9])")
        #expect(texts[9].contains("   账号      ucloud、账号 ID 100、密钥在 /etc/httpdnsd/ucloud.key\n"), "\(texts[9])")
        #expect(texts[9].hasSuffix("\n   写入该文件吗？ [是]："))
    }

    @Test("Chinese answers and commas are taken in every language")
    func chineseAnswers() throws {
        var asked = try dialogue()
        #expect(type(["1，3、4", "否", "no", "是"], into: &asked) == [])
        #expect(asked.answers.takesOver == true)
        let same = "--providers alidns,google,cloudflare --account no --lan no --take-over yes"
        #expect(try asked.answers.settingsFile() == answers(same).settingsFile())
        #expect(type(["是"], into: &asked) == [])
        #expect(asked.isAccepted)
    }

    @Test("long complaints are broken into lines")
    func lines() {
        let text = SetupLines.complaint(String(repeating: "word ", count: 60))
        #expect(text.hasPrefix("   word word") && text.hasSuffix("word\n"))
        #expect(text.split(separator: "\n").count == 4)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test("a complaint in Chinese is broken between characters, never before a closing mark")
    func chineseLines() {
        let sentence = "输入的是 nonsense；可以使用：no、alidns、alicloud，以及其他 SERVICE。"
        let text = SetupLines.complaint(String(repeating: sentence, count: 5))
        let lines = text.split(separator: "\n")
        #expect(lines.count == 4 && lines.allSatisfy { $0.columns <= 100 && $0.hasPrefix("   ") }, "\(text)")
        #expect(lines.dropLast().allSatisfy { $0.columns > 80 })
        #expect(lines.allSatisfy { line in !"，。；：、".contains(line.dropFirst(3).first ?? " ") }, "\(text)")
        #expect(
            lines.map { $0.dropFirst(3) }.joined().filter { $0 != " " }
                == String(repeating: sentence, count: 5).filter { $0 != " " })
    }
}
