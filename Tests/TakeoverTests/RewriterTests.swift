// The programs that will rewrite resolv.conf: those that run and are not configured to leave it alone.

@testable import httpdnsctl
import Testing

@Suite("Programs that write resolv.conf again")
struct RewriterTests {
    private func rewriters(
        _ running: Set<String> = [], _ manager: ResolvConfWriter = .plainFile,
        _ tell: (inout RewriterSettings) -> Void = { _ in }
    ) -> [String] {
        var survey = SampleMachine.survey(manager)
        survey.running.formUnion(running)
        tell(&survey.rewriterSettings)
        return survey.rewriters.map(\.program)
    }

    @Test("those that run are named, unless they were told to keep off")
    func running() {
        #expect(rewriters(["dhclient", "dhcpcd", "sshd"]) == ["dhclient", "dhcpcd"])
        #expect(rewriters(["dhclient", "dhcpcd"]) { $0.hasResolvconf = true }.isEmpty)
        #expect(rewriters(["dhclient"]) { $0.dhclient = "  supersede domain-name-servers 127.0.0.1;\n" }.isEmpty)
        #expect(rewriters(["dhclient"]) { $0.dhclient = "#supersede domain-name-servers 127.0.0.1;\n" }.count == 1)
        #expect(rewriters(["dhcpcd"]) { $0.dhcpcd = "nohook lookup-hostname, resolv.conf\n" }.isEmpty)
        #expect(rewriters(["dhcpcd"]) { $0.dhcpcd = "nohook lookup-hostname\n" }.count == 1)
    }

    @Test("NetworkManager is named only where it keeps resolv.conf")
    func networkManager() {
        #expect(rewriters([], .networkManager) == ["NetworkManager"])
        #expect(rewriters([], .networkManager) { $0.hasResolvconf = true }.isEmpty)
        var survey = SampleMachine.survey(.networkManager)
        for line in ["rc-manager=unmanaged", "dns=none", "dns=systemd-resolved"] {
            survey.networkManagerSettings = "[main]\n\(line)\n"
            #expect(survey.rewriters.isEmpty)
        }
        survey.networkManagerSettings = ""
        survey.resolvConfDestination = "/srv/resolv.conf"
        #expect(survey.rewriters.isEmpty, "it follows no link to foreign places")
        #expect(rewriters(["dhclient"], .resolved).isEmpty, "who asks systemd-resolved is not written by others")
    }

    @Test("cloud-init is named where it was told to write, and by its last word")
    func cloudInit() {
        #expect(rewriters { $0.cloudInit = "manage_etc_hosts: true\n#manage_resolv_conf: true\n" }.isEmpty)
        #expect(rewriters { $0.cloudInit = "manage_resolv_conf: true # ours\n" } == ["cloud-init"])
        #expect(rewriters { $0.cloudInit = "manage_resolv_conf: true\nmanage_resolv_conf: false\n" }.isEmpty)
    }

    @Test("WSL is named unless generateResolvConf is false, whichever program manages resolv.conf")
    func windows() {
        #expect(rewriters { $0.wsl = "" } == ["WSL"] && rewriters([], .resolved) { $0.wsl = "" } == ["WSL"])
        #expect(rewriters { $0.wsl = "generateResolvConf=false\n" }.count == 1, "it stands in no section")
        #expect(rewriters { $0.wsl = "[network]\n#generateResolvConf=false\n" }.count == 1)
        #expect(rewriters { $0.wsl = "[boot]\r\n[network]\r\ngenerateResolvConf = False\r\n" }.isEmpty)
    }

    @Test("a takeover warns of all but the one whose settings it writes")
    func warnings() {
        var survey = SampleMachine.survey(.plainFile)
        survey.running = ["dhclient"]
        survey.rewriterSettings.wsl = ""
        let warnings = TakeoverPlan(survey, addresses: SampleMachine.addresses).warnings
        #expect(warnings.count == 2 && warnings[0].contains("supersede") && warnings[1].contains("generateResolvConf"))
        #expect(TakeoverPlan(SampleMachine.survey(.networkManager), addresses: ["127.0.0.1"]).warnings.isEmpty)
    }
}
