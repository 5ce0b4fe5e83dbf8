// The files that a takeover writes on each kind of machine, and its warnings.

@testable import httpdnsctl
import LinuxIO
import Testing

@Suite("The plan of a takeover")
struct TakeoverPlanTests {
    private func plan(_ survey: Survey, addresses: [String] = SampleMachine.addresses) -> TakeoverPlan {
        TakeoverPlan(survey, addresses: addresses)
    }

    private func written(_ path: String, _ plan: TakeoverPlan) -> String? {
        plan.record.paths.first { $0.path == path }?.ours.bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    private func calls(_ plan: TakeoverPlan) -> [String] { plan.record.calls.map(\.line) }

    @Test("a plain file names the daemon alone, and keeps search, options, mode and owner")
    func plainFile() throws {
        let plan = plan(SampleMachine.survey(.plainFile))
        let text = try #require(written(SystemPaths.resolvConf, plan))
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines == ["nameserver 127.0.0.1", "nameserver ::1", "search a.example b.example", "options edns0"])
        #expect(text.contains("httpdnsctl system restore"))
        let path = try #require(plan.record.paths.last)
        guard case .file(_, let owner) = path.ours else { throw Missing() }
        #expect(owner == SampleMachine.owner)
        #expect(calls(plan).isEmpty)
    }

    private struct Missing: Error {}

    @Test("what is neither file nor link is not touched")
    func untouchable() {
        var survey = SampleMachine.survey(.plainFile)
        #expect(plan(survey).untouchable.isEmpty)
        for state in [FileSnapshot.other, .directory] {
            survey.states[SystemPaths.resolvConf] = state
            #expect(plan(survey).untouchable == [SystemPaths.resolvConf])
        }
    }

    @Test("the nameservers of before are kept where the daemon reads them")
    func formerNameservers() {
        let plan = plan(SampleMachine.survey(.plainFile))
        #expect(written(SystemPaths.formerNameservers, plan)?.hasPrefix("nameserver 192.0.2.1\n") == true)
    }

    @Test(
        "systemd-resolved's list is not used as the former nameservers if it is not in use or is empty")
    func emptyUplinks() {
        var survey = SampleMachine.survey(.plainFile)
        survey.uplinkContent = Array("# managed by man:systemd-resolved(8)\nnameserver 192.0.2.7\n".utf8)
        #expect(written(SystemPaths.formerNameservers, plan(survey))?.hasPrefix("nameserver 192.0.2.1\n") == true)
        survey = SampleMachine.survey(.resolved)
        survey.uplinkContent = Array("# No DNS servers known.\n".utf8)
        #expect(written(SystemPaths.formerNameservers, plan(survey)) == "nameserver 192.0.2.1\n")
    }

    @Test("what is kept for the daemon to read has nameservers and search domains alone")
    func onlyNameservers() {
        let text = written(SystemPaths.formerNameservers, plan(SampleMachine.survey(.plainFile)))
        #expect(text == "nameserver 192.0.2.1\nsearch a.example b.example\n")
    }

    @Test("what others could not read is not shown by the record")
    func recordMode() {
        var survey = SampleMachine.survey(.openresolv)
        #expect(plan(survey).record.mode == 0o640)
        survey.states["/etc/resolvconf.conf"] = .file([], FileRights(userID: 0, groupID: 0, mode: 0o400))
        #expect(plan(survey).record.mode == 0o600)
    }

    @Test(
        "a takeover warns if the daemon has no enabled unit or no restore unit",
        arguments: [
            ("", "does not run as httpdnsd.service"),
            ("ActiveState=inactive\nOnFailure=\nUnitFileState=enabled\n", "does not run as httpdnsd.service"),
            ("ActiveState=active\nOnFailure=httpdnsd-restore.service\nUnitFileState=disabled\n", "systemctl enable"),
            ("ActiveState=active\nOnFailure=other.service\nUnitFileState=enabled\n", "system restore"),
        ])
    func units(said: String, words: String) {
        var survey = SampleMachine.survey(.plainFile)
        survey.daemonUnit = DaemonUnit(said)
        let warnings = plan(survey).warnings
        #expect(warnings.count == 1 && warnings.contains { $0.contains(words) })
    }

    @Test("a socket that is enabled starts the daemon, too")
    func socketUnit() {
        var survey = SampleMachine.survey(.plainFile)
        survey.daemonUnit = DaemonUnit(
            "ActiveState=active\nOnFailure=a.service httpdnsd-restore.service\nUnitFileState=disabled\n"
                + "\nActiveState=active\nUnitFileState=enabled\n")
        #expect(plan(survey).warnings.isEmpty)
    }

    @Test("a link to bytes of any kind is shown to people without moving their cursor")
    func oddLink() throws {
        var survey = SampleMachine.survey(.plainFile)
        survey.states[SystemPaths.resolvConf] = .link(target: [0x1B, 0x5B, 0x41, 0xE9], SampleMachine.owner)
        let words = try #require(plan(survey).steps.last?.words)
        #expect(words.contains("\\x1b[A\\xe9"))
    }

    @Test("the C library reads three nameservers, so no more are written")
    func threeServers() {
        let plan = plan(
            SampleMachine.survey(.plainFile), addresses: ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"])
        #expect(plan.addresses.count == 3)
    }

    @Test("systemd-resolved gets a drop-in, and its stub in the place of its list")
    func resolved() {
        let plan = plan(SampleMachine.survey(.resolved))
        let settings = written("/etc/systemd/resolved.conf.d/httpdnsd.conf", plan)
        #expect(settings?.hasSuffix("[Resolve]\nDNS=\nDNS=127.0.0.1 ::1\nDomains=~.\n") == true)
        guard case .link(let target, _) = plan.record.paths.last?.ours else {
            Issue.record("no link")
            return
        }
        #expect(target == Array("../run/systemd/resolve/stub-resolv.conf".utf8))
        #expect(
            calls(plan) == [
                "systemctl reset-failed systemd-resolved.service", "systemctl try-restart systemd-resolved.service",
            ])
    }

    @Test("a link to systemd-resolved's stub stays, and so does one to its list where there is no stub")
    func resolvedStub() {
        var survey = SampleMachine.survey(.resolved)
        survey.isStubAnswering = false
        #expect(!plan(survey).record.paths.contains { $0.path == SystemPaths.resolvConf })
        survey.isStubAnswering = true
        survey.resolvConfDestination = "/run/systemd/resolve/stub-resolv.conf"
        #expect(!plan(survey).record.paths.contains { $0.path == SystemPaths.resolvConf })
    }

    @Test("NetworkManager is told to keep off before resolv.conf is written")
    func networkManager() {
        let plan = plan(SampleMachine.survey(.networkManager))
        #expect(
            written("/etc/NetworkManager/conf.d/zz-httpdnsd.conf", plan)?.hasSuffix("rc-manager=unmanaged\n") == true)
        #expect(calls(plan) == ["systemctl try-reload-or-restart NetworkManager.service"])
        guard case .put(let last) = plan.steps.last, case .run = plan.steps.dropLast().last else {
            Issue.record("another order")
            return
        }
        #expect(last.path == SystemPaths.resolvConf)
    }

    @Test("Debian's resolvconf goes on with its own file, and resolv.conf is a file of ours")
    func debianResolvconf() {
        let plan = plan(SampleMachine.survey(.debianResolvconf))
        #expect(written(SystemPaths.resolvConf, plan)?.contains("nameserver 127.0.0.1\n") == true)
        #expect(calls(plan).isEmpty)
    }

    @Test("openresolv gets lines at the end of its settings, on lines of their own")
    func openresolv() {
        let plan = plan(SampleMachine.survey(.openresolv))
        let text = written("/etc/resolvconf.conf", plan)
        #expect(text?.hasPrefix("resolv_conf=/etc/resolv.conf\n#") == true)
        #expect(text?.hasSuffix("name_servers=\"127.0.0.1 ::1\"\nresolv_conf_local_only=YES\n") == true)
        #expect(calls(plan) == ["resolvconf -u"])
    }

    @Test(
        "directories that are there are not made",
        arguments: [
            (ResolvConfWriter.resolved, "/etc/systemd/resolved.conf.d"),
            (.networkManager, "/etc/NetworkManager/conf.d"),
        ])
    func folders(manager: ResolvConfWriter, folder: String) {
        var survey = SampleMachine.survey(manager)
        for isThere in [false, true] {
            survey.states[folder] = isThere ? .directory : .absent
            #expect(plan(survey).record.paths.contains { $0.path == folder } == !isThere)
        }
    }

    @Test("Docker is named by what it leaves")
    func docker() {
        var survey = SampleMachine.survey(.plainFile)
        survey.states["/.dockerenv"] = SampleMachine.text("")
        #expect(plan(survey).warnings.isEmpty)
        survey.mountPoints = [SystemPaths.resolvConf]
        #expect(plan(survey).warnings.contains { $0.contains("--dns") })
    }

    @Test("each step has words of its own", arguments: ResolvConfWriter.allCases)
    func words(manager: ResolvConfWriter) {
        let plan = plan(SampleMachine.survey(manager))
        #expect(Set(plan.steps.map(\.words)).count == plan.steps.count)
        #expect(plan.lines.first?.contains(manager.rawValue) == true)
    }
}
