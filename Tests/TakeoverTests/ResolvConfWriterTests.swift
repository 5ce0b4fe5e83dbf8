// The program that manages resolv.conf, detected from the state of a machine.

@testable import httpdnsctl
import Testing

@Suite("Who keeps resolv.conf")
struct ResolvConfWriterTests {
    @Test("each kind has a name of its own for people")
    func names() {
        #expect(Set(ResolvConfWriter.allCases.map(\.rawValue)).count == ResolvConfWriter.allCases.count)
    }

    @Test("each kind is told by what it leaves", arguments: ResolvConfWriter.allCases)
    func kinds(manager: ResolvConfWriter) {
        #expect(ResolvConfWriter(SampleMachine.survey(manager)) == manager)
    }

    @Test("a link to systemd-resolved's files is a plain file while systemd-resolved does not run")
    func resolvedStopped() {
        var survey = SampleMachine.survey(.resolved)
        survey.running = []
        #expect(ResolvConfWriter(survey) == .plainFile)
    }

    @Test("a file that a person wrote has no manager")
    func handWritten() {
        var survey = SampleMachine.survey(.plainFile)
        survey.running = ["systemd-resolve"]
        survey.resolvConfContent = Array("# names are resolved by hand\nnameserver 192.0.2.1\n".utf8)
        #expect(ResolvConfWriter(survey) == .plainFile)
    }

    @Test("a copy of systemd-resolved's file is told by its head")
    func resolvedCopy() {
        var survey = SampleMachine.survey(.resolved)
        survey.resolvConfDestination = nil
        #expect(ResolvConfWriter(survey) == .resolved)
    }

    @Test(
        "NetworkManager overwrites any program's file, unless it is configured not to",
        arguments: [
            ("", ResolvConfWriter.networkManager), ("dns=none", .plainFile), ("rc-manager=unmanaged", .plainFile),
            ("dns=systemd-resolved", .plainFile), ("dns=default", .networkManager),
        ])
    func networkManagerSettings(line: String, manager: ResolvConfWriter) {
        var survey = SampleMachine.survey(.plainFile)
        survey.running = ["NetworkManager"]
        survey.networkManagerSettings = "[main]\n\(line)\n"
        #expect(ResolvConfWriter(survey) == manager)
    }

    @Test(
        "NetworkManager that hands over to another manager is not the one",
        arguments: [
            ResolvConfWriter.resolved, .debianResolvconf, .openresolv,
        ])
    func networkManagerBehind(manager: ResolvConfWriter) {
        var survey = SampleMachine.survey(manager)
        survey.running.insert("NetworkManager")
        #expect(ResolvConfWriter(survey) == manager)
    }

    @Test("NetworkManager does not follow a link to somewhere else")
    func networkManagerAndLink() {
        var survey = SampleMachine.survey(.plainFile)
        survey.running = ["NetworkManager"]
        survey.resolvConfDestination = "/srv/resolv.conf"
        #expect(ResolvConfWriter(survey) == .plainFile)
    }
}
