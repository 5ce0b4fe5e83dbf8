// The findings of the checks of the daemon and its port.

import Control
import Testing

@testable import httpdnsctl

@Suite("Findings about the daemon and its port")
struct FindingTests {
    private func listener(_ udp: DaemonCheck.Reply, _ tcp: DaemonCheck.Reply) -> DaemonCheck.Listener {
        DaemonCheck.Listener(place: "127.0.0.1:53", udp: udp, tcp: tcp)
    }

    private func daemon(
        _ control: DaemonCheck.Control, _ udp: DaemonCheck.Reply, _ tcp: DaemonCheck.Reply
    ) -> DaemonCheck {
        DaemonCheck(control: control, socket: "/run/s", listeners: [listener(udp, tcp)])
    }

    @Test("a daemon that answers everywhere gives nothing to say")
    func healthy() {
        #expect(daemon(.answers, .ours, .ours).findings.isEmpty)
        #expect(daemon(.none, .ours, .ours).findings.isEmpty)
    }

    @Test("a daemon that is down is one finding, however many places are silent")
    func down() {
        let check = daemon(.absent("no such file"), .refused, .refused)
        #expect(!check.isUp && check.findings.map(\.subject) == [.daemon] && check.findings[0].gravity == .fault)
        #expect(check.findings[0].remedy.english.hasPrefix("systemctl start httpdnsd"))
    }

    @Test("a daemon that hangs is told from one that is down")
    func hanging() {
        let check = daemon(.silent, .silent, .silent)
        #expect(check.findings.map(\.remedy.english) == ["systemctl restart httpdnsd"])
    }

    @Test("a transport that is silent is named while the daemon runs")
    func transport() {
        let findings = daemon(.answers, .ours, .refused).findings
        #expect(findings.map(\.text.english) == ["127.0.0.1:53 over TCP: connection refused"])
        #expect(daemon(.answers, .unsent("x"), .silent).findings.count == 2)
    }

    @Test("a daemon that says nothing of itself to others than loopback is in order")
    func declined() {
        #expect(daemon(.answers, .declined, .declined).findings.isEmpty)
        #expect(!daemon(.absent("x"), .declined, .declined).isUp, "others refuse as well")
    }

    @Test("what the daemon knows itself is told")
    func state() {
        let quota = QuotaWarning(provider: "paid", questions: 80, quota: "100/day", isUsedUp: false)
        let known = DaemonCheck.State(
            loopingServers: ["192.0.2.1:53"], portal: "http://a/", isSwitchedOff: true,
            unresolvedProviders: ["volc"], failingProviders: ["baidu"], quotas: [quota])
        let check = DaemonCheck(
            control: .answers, socket: "/run/s", listeners: [listener(.ours, .ours)], state: known)
        #expect(check.findings.map(\.gravity) == [.warning, .warning, .warning, .warning, .warning, .note])
        #expect(
            check.findings[0].text.english.contains("192.0.2.1:53")
                && check.findings[3].text.english.hasSuffix("http://a/"))
        #expect(check.findings[1].text.english.hasPrefix("volc waits for an address"))
        #expect(check.findings[2].text.english.hasPrefix("baidu gives the daemon no usable replies"))
        #expect(check.findings[4].text.english == quota.text)
    }

    @Test("a control socket that this user may not open is no fault")
    func denied() {
        #expect(daemon(.denied, .ours, .ours).findings.allSatisfy { $0.isNote })
        #expect(daemon(.absent("x"), .ours, .ours).findings.map(\.gravity) == [.warning])
    }

    @Test(
        "each program that holds the port has its own remedy",
        arguments: [
            ("systemd-resolve (pid 1)", "httpdnsctl system use"),
            ("dnsmasq (pid 7)", "systemctl disable --now dnsmasq"),
            ("unbound (pid 7)", "systemctl disable --now unbound"), ("docker-proxy (pid 7)", "docker ps"),
            ("systemd (pid 1)", "systemctl list-sockets"), ("something (pid 9)", "stop it"),
        ])
    func holders(holder: String, remedy: String) {
        let check = PortCheck(
            places: ["127.0.0.1:53"],
            holdings: [
                PortCheck.Holding(place: "127.0.0.1:53", transport: "UDP", holder: holder),
                PortCheck.Holding(place: "127.0.0.1:53", transport: "TCP", holder: holder),
            ], isSocketUnitUp: false)
        #expect(check.findings.count == 1 && check.findings[0].remedy.english.hasPrefix(remedy))
        #expect(check.findings[0].text.english == "127.0.0.1:53 over UDP, 127.0.0.1:53 over TCP: held by \(holder)")
    }

    @Test("a daemon of ours that holds its own port is no finding")
    func ourselves() {
        let holding = PortCheck.Holding(place: "127.0.0.1:53", transport: "UDP", holder: "httpdnsd (pid 7)")
        #expect(PortCheck(places: ["127.0.0.1:53"], holdings: [holding], isSocketUnitUp: false).findings.isEmpty)
    }

    @Test("systemd holds the port for the daemon where httpdnsd.socket is up")
    func socketUnit() {
        let findings = { (isUp: Bool) in
            let holding = PortCheck.Holding(place: "127.0.0.1:53", transport: "UDP", holder: "systemd (pid 1)")
            return PortCheck(places: ["127.0.0.1:53"], holdings: [holding], isSocketUnitUp: isUp).findings
        }
        #expect(findings(true).isEmpty && findings(false).map(\.gravity) == [.fault])
        let waiting = DaemonCheck(control: .startedByQuestions, socket: "/run/s", listeners: [])
        #expect(waiting.isUp && waiting.findings.map(\.gravity) == [.note])
    }

    @Test("an address that the machine does not have is a fault only where it is the only one")
    func missingAddress() {
        let missing = DaemonCheck.Listener(place: "[::1]:53", udp: .addressMissing, tcp: .addressMissing)
        let findings = { (listeners: [DaemonCheck.Listener]) in
            DaemonCheck(control: .answers, socket: "/run/s", listeners: listeners).findings.map(\.gravity)
        }
        #expect(findings([listener(.ours, .ours), missing]) == [.note, .note])
        #expect(findings([missing]) == [.fault, .fault])
    }

    @Test("a daemon that has no port 53 can't be named by resolv.conf")
    func otherPort() {
        #expect(
            PortCheck(places: ["127.0.0.1:5300"], holdings: [], isSocketUnitUp: false).findings.map(\.subject) == [
                .port
            ])
    }

    @Test("a short question is small, and a long one wants DNSSEC")
    func questions() {
        let short = ExaminingQuestion.short.message(id: 0x1234)
        #expect(short.prefix(2) == [0x12, 0x34] && short[12..<17] == [0, 0, 2, 0, 1])
        let long = ExaminingQuestion.long.message(id: 1)
        #expect(long.suffix(11) == [0, 0, 41, 0x10, 0, 0, 0, 0x80, 0, 0, 0])
    }
}
