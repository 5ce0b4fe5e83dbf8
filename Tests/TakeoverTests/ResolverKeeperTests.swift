// Who keeps resolv.conf, from what was seen of a machine.

@testable import httpdnsctl
import Testing

@Suite("Who keeps resolv.conf")
struct ResolverKeeperTests {
    @Test("each kind has a name of its own for people")
    func names() {
        #expect(Set(ResolverKeeper.allCases.map(\.rawValue)).count == ResolverKeeper.allCases.count)
    }

    @Test("each kind is told by what it leaves", arguments: ResolverKeeper.allCases)
    func kinds(keeper: ResolverKeeper) {
        #expect(ResolverKeeper(SampleMachine.survey(keeper)) == keeper)
    }

    @Test("a link to systemd-resolved's files is a plain file while systemd-resolved does not run")
    func resolvedStopped() {
        var survey = SampleMachine.survey(.resolved)
        survey.running = []
        #expect(ResolverKeeper(survey) == .plainFile)
    }

    @Test("a file in whose head people say how they resolve is theirs")
    func handWritten() {
        var survey = SampleMachine.survey(.plainFile)
        survey.running = ["systemd-resolve"]
        survey.resolvConfContent = Array("# names are resolved by hand\nnameserver 192.0.2.1\n".utf8)
        #expect(ResolverKeeper(survey) == .plainFile)
    }

    @Test("a copy of systemd-resolved's file is told by its head")
    func resolvedCopy() {
        var survey = SampleMachine.survey(.resolved)
        survey.resolvConfDestination = nil
        #expect(ResolverKeeper(survey) == .resolved)
    }

    @Test(
        "NetworkManager writes over anybody's file, unless it is told not to",
        arguments: [
            ("", ResolverKeeper.networkManager), ("dns=none", .plainFile), ("rc-manager=unmanaged", .plainFile),
            ("dns=systemd-resolved", .plainFile), ("dns=default", .networkManager),
        ])
    func networkManagerSettings(line: String, keeper: ResolverKeeper) {
        var survey = SampleMachine.survey(.plainFile)
        survey.running = ["NetworkManager"]
        survey.networkManagerSettings = "[main]\n\(line)\n"
        #expect(ResolverKeeper(survey) == keeper)
    }

    @Test(
        "NetworkManager that hands over to another keeper is not the one",
        arguments: [
            ResolverKeeper.resolved, .debianResolvconf, .openresolv,
        ])
    func networkManagerBehind(keeper: ResolverKeeper) {
        var survey = SampleMachine.survey(keeper)
        survey.running.insert("NetworkManager")
        #expect(ResolverKeeper(survey) == keeper)
    }

    @Test("NetworkManager does not follow a link to somewhere else")
    func networkManagerAndLink() {
        var survey = SampleMachine.survey(.plainFile)
        survey.running = ["NetworkManager"]
        survey.resolvConfDestination = "/srv/resolv.conf"
        #expect(ResolverKeeper(survey) == .plainFile)
    }
}
