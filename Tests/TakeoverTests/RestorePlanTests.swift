// A restore returns a machine to its former state, from every point at which a takeover or a restore can stop.

@testable import httpdnsctl
import LinuxIO
import Testing

@Suite("Giving back")
struct RestorePlanTests {
    private func taken(_ manager: ResolvConfWriter) -> (before: SampleMachine, plan: TakeoverPlan) {
        let survey = SampleMachine.survey(manager)
        return (SampleMachine(survey), TakeoverPlan(survey, addresses: SampleMachine.addresses))
    }

    private func after(_ plan: TakeoverPlan, _ before: SampleMachine) -> SampleMachine {
        var machine = before
        for step in plan.steps { machine.take(step) }
        return machine
    }

    @Test("all is as before after every number of steps", arguments: ResolvConfWriter.allCases)
    func everyPrefix(manager: ResolvConfWriter) {
        let (before, plan) = taken(manager)
        for count in 0...plan.steps.count {
            var machine = before
            for step in plan.steps.prefix(count) { machine.take(step) }
            machine.restore(plan.record)
            #expect(machine == before, "\(manager) after \(count) steps")
        }
    }

    @Test("all is as before when giving back was interrupted at any step", arguments: ResolvConfWriter.allCases)
    func everyPrefixBack(manager: ResolvConfWriter) {
        let (before, plan) = taken(manager)
        let used = after(plan, before)
        let back = used.plan(plan.record).steps
        for count in 0...back.count {
            var machine = used
            for step in back.prefix(count) { machine.take(step) }
            machine.restore(plan.record)
            #expect(machine == before, "\(manager) after \(count) steps back")
        }
    }

    @Test("any of the paths may be as before or as after", arguments: ResolvConfWriter.allCases)
    func everyMixture(manager: ResolvConfWriter) {
        let (before, plan) = taken(manager)
        let paths = plan.record.paths.filter { $0.role != .generated && $0.role != .folder }
        for choice in 0..<(1 << paths.count) {
            var machine = before
            for path in plan.record.paths where path.role == .folder { machine.files[path.path] = .directory }
            for (index, path) in paths.enumerated() where choice >> index & 1 == 1 {
                machine.files[path.path] = path.ours
            }
            machine.restore(plan.record)
            #expect(machine == before, "\(manager), choice \(choice)")
        }
    }

    @Test("giving back twice changes nothing more", arguments: ResolvConfWriter.allCases)
    func twice(manager: ResolvConfWriter) {
        let (before, plan) = taken(manager)
        var machine = after(plan, before)
        machine.restore(plan.record)
        let files = machine.plan(plan.record).steps.filter { if case .run = $0 { false } else { true } }
        #expect(files.isEmpty)
    }

    @Test("a file that is written over may have any part of the new one in it")
    func writtenOver() throws {
        var survey = SampleMachine.survey(.plainFile)
        survey.mountPoints = [SystemPaths.resolvConf]
        let (before, plan) = (SampleMachine(survey), TakeoverPlan(survey, addresses: SampleMachine.addresses))
        let path = try #require(plan.record.paths.first { $0.role == .resolvConf })
        let (old, new) = (try #require(path.former.bytes), try #require(path.ours.bytes))
        #expect(path.isWrittenOver)
        for count in 0...new.count {
            var machine = before
            machine.files[path.path] = .file(Array(new.prefix(count) + old.dropFirst(count)), SampleMachine.owner)
            machine.restore(plan.record)
            #expect(machine == before, "\(count) bytes written")
        }
    }

    @Test("a foreign file in the place of our resolv.conf stays, and the original is kept aside")
    func foreign() {
        let (before, plan) = taken(.plainFile)
        var machine = after(plan, before)
        machine.files[SystemPaths.resolvConf] = SampleMachine.text("nameserver 198.51.100.1\n")
        let foreign = machine.files[SystemPaths.resolvConf]
        #expect(machine.plan(plan.record).leftAlone == [SystemPaths.resolvConf])
        machine.restore(plan.record)
        #expect(machine.files[SystemPaths.resolvConf] == foreign)
        #expect(machine.files[SystemPaths.former + "resolv.conf"]?.bytes == before.files[SystemPaths.resolvConf]?.bytes)
    }

    @Test("a foreign link in that place stays, too")
    func foreignLink() {
        let (before, plan) = taken(.plainFile)
        var machine = after(plan, before)
        let target = "/run/systemd/resolve/stub-resolv.conf"
        let link = FileSnapshot.link(target: Array(target.utf8), SampleMachine.owner)
        machine.files[SystemPaths.resolvConf] = link
        machine.files[target] = SampleMachine.text("nameserver 127.0.0.53\n")
        machine.restore(plan.record)
        #expect(machine.files[SystemPaths.resolvConf] == link)
    }

    @Test(
        "a link through which names go on to lead to the daemon is kept aside, and the previous settings are restored",
        arguments: ["nameserver 127.0.0.1 # ours\n", "nameserver 0:0:0:0:0:0:0:1\n", "# nobody\n"])
    func linkToOurs(text: String) {
        let (before, plan) = taken(.plainFile)
        var machine = after(plan, before)
        let link = FileSnapshot.link(target: Array("/run/moved".utf8), SampleMachine.owner)
        machine.files[SystemPaths.resolvConf] = link
        machine.files["/run/moved"] = SampleMachine.text(text)
        machine.restore(plan.record)
        #expect(machine.files[SystemPaths.resolvConf] == before.files[SystemPaths.resolvConf])
        #expect(machine.files[SystemPaths.changed + "resolv.conf"] == link)
    }

    @Test("a link that was there before is kept as a link, and its target said")
    func formerLink() {
        let (before, plan) = taken(.debianResolvconf)
        var machine = after(plan, before)
        machine.files[SystemPaths.resolvConf] = SampleMachine.text("nameserver 198.51.100.1\n")
        #expect(machine.plan(plan.record).remarks.contains { $0.contains("../run/resolvconf/resolv.conf") })
        machine.restore(plan.record)
        #expect(machine.files[SystemPaths.former + "resolv.conf"] == before.files[SystemPaths.resolvConf])
    }

    @Test("what was kept in an earlier time stays, and the same is not kept twice")
    func keptBefore() {
        let (before, plan) = taken(.plainFile)
        var machine = after(plan, before)
        let first = SystemPaths.former + "resolv.conf"
        machine.files[first] = SampleMachine.text("nameserver 192.0.2.77\n")
        machine.files[SystemPaths.resolvConf] = SampleMachine.text("nameserver 198.51.100.1\n")
        for _ in 0..<2 {
            machine.restore(plan.record)
            #expect(machine.files[first] == SampleMachine.text("nameserver 192.0.2.77\n"))
            #expect(machine.files[first + ".2"] == before.files[SystemPaths.resolvConf])
            #expect(machine.files[first + ".3"] == nil)
        }
        #expect(Set(RestorePlan.looked(plan.record)).isSuperset(of: [first, first + ".2", SystemPaths.resolvConf]))
    }

    @Test("what was changed but leads to the daemon still is given back, and the change kept")
    func changedButOurs() {
        let (before, plan) = taken(.plainFile)
        var machine = after(plan, before)
        machine.files[SystemPaths.resolvConf] = SampleMachine.text("nameserver ::1\nsearch new.example\n")
        machine.restore(plan.record)
        #expect(machine.files[SystemPaths.resolvConf] == before.files[SystemPaths.resolvConf])
        #expect(machine.files[SystemPaths.changed + "resolv.conf"] != nil)
    }

    @Test("a resolv.conf that is gone comes back: without one, the C library asks the daemon's address")
    func gone() {
        let (before, plan) = taken(.plainFile)
        var machine = after(plan, before)
        machine.files[SystemPaths.resolvConf] = nil
        machine.restore(plan.record)
        #expect(machine == before)
    }

    @Test("edited settings of another program lose our lines alone")
    func sharedSettings() throws {
        let (before, plan) = taken(.openresolv)
        var machine = after(plan, before)
        let path = "/etc/resolvconf.conf"
        let bytes = try #require(machine.files[path]?.bytes)
        machine.files[path] = .file(bytes + Array("search_domains=new.example\n".utf8), SampleMachine.owner)
        machine.restore(plan.record)
        let text = String(decoding: try #require(machine.files[path]?.bytes), as: UTF8.self)
        #expect(text == "resolv_conf=/etc/resolv.conf\nsearch_domains=new.example\n")
    }

    @Test("a settings directory stays while it holds a file of another program")
    func folder() {
        let (before, plan) = taken(.resolved)
        var machine = after(plan, before)
        machine.files["/etc/systemd/resolved.conf.d/other.conf"] = SampleMachine.text("[Resolve]\n")
        machine.restore(plan.record)
        #expect(machine.files["/etc/systemd/resolved.conf.d"] == .directory)
        #expect(machine.files["/etc/systemd/resolved.conf.d/httpdnsd.conf"] == nil)
    }

    @Test("what a manager writes afterwards stays where it does not lead to the daemon")
    func generated() {
        let (before, plan) = taken(.openresolv)
        var machine = before
        machine.files[SystemPaths.resolvConf] = SampleMachine.text("# Generated by resolvconf\nnameserver 192.0.2.9\n")
        #expect(machine.afterwards(plan.record).isEmpty)
        machine.files[SystemPaths.resolvConf] = SampleMachine.text("# Generated by resolvconf\nnameserver ::1\n")
        #expect(!machine.afterwards(plan.record).isEmpty)
    }
}
