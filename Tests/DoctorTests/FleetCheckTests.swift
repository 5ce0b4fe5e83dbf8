// The findings of the fleet check.

import Control
import Testing

@testable import httpdnsctl

@Suite("Findings about the fleet")
struct FleetCheckTests {
    private let state = StatusReport.Fleet(server: "unix:/r", site: "here", fault: nil)

    private func report(_ settings: [String] = ["1"], membersFault: String? = nil) -> FleetReport {
        let members = settings.enumerated().map { number, settings in
            FleetReport.Member("m\(number)", site: "here", version: "0.1.0", settings: settings, isThis: number == 0)
        }
        return FleetReport(
            state, StatsReport.Fleet(), callMilliseconds: nil, members: members, membersFault: membersFault)
    }

    private func findings(_ report: FleetReport?) -> [Finding] { FleetCheck(state: state, report: report).findings }

    @Test("without a fleet, or with one in order, there is nothing to say")
    func healthy() {
        #expect(FleetCheck(state: nil, report: nil).findings.isEmpty)
        #expect(findings(nil).isEmpty, "a daemon without the command")
        var known = report(["1", "1"])
        (known.maxMemoryBytes, known.evictionPolicy) = (256 << 20, "volatile-ttl")
        #expect(findings(known).isEmpty)
    }

    @Test("while Redis cannot be used, that alone is told")
    func unused() {
        let lost = StatusReport.Fleet(server: "unix:/r", site: "here", fault: "no such file")
        let found = FleetCheck(state: lost, report: report(["1", "2"], membersFault: "Redis is not used")).findings
        #expect(found.map(\.text.english) == ["no answers are shared with the fleet: Redis at unix:/r: no such file"])
        #expect(found.map(\.gravity) == [.warning] && found[0].subject == .fleet)
    }

    @Test("members with other settings are named, with the commands that show the difference")
    func drift() {
        let found = findings(report(["1", "2", "1", "3"]))
        #expect(
            found.map(\.text.english) == [
                "other settings than this machine, in site here: m1, m3; they may not share its answers"
            ])
        #expect(found[0].gravity == .warning && found[0].remedy.english.hasPrefix("compare httpdnsd --print-effective"))
        #expect(findings(report(["1", "2", "2", "2", "2", "2", "2"]))[0].text.english.contains("m4, m5 and 1 more;"))
    }

    @Test("members that could not be read are a note, because answers are shared")
    func unread() {
        let found = findings(report(membersFault: "NOPERM"))
        #expect(found.map(\.gravity) == [.note] && found[0].text.english.hasSuffix("from Redis at unix:/r: NOPERM"))
    }

    @Test(
        "limits of Redis are judged if they are known",
        arguments: [
            (0, "volatile-ttl", ["has no memory limit"]), (1, "noeviction", ["refuses answers when"]),
            (1, "allkeys-lru", ["may remove the list of flushes"]), (1, "volatile-lru", []), (nil, nil, []),
            (0, "noeviction", ["has no memory limit", "refuses answers when"]),
        ] as [(Int?, String?, [String])])
    func limits(bytes: Int?, policy: String?, words: [String]) {
        var known = report()
        (known.maxMemoryBytes, known.evictionPolicy) = (bytes, policy)
        let found = findings(known)
        #expect(found.count == words.count && zip(found, words).allSatisfy { $0.text.english.contains($1) }, "\(found)")
        #expect(
            found.allSatisfy { $0.gravity == .warning && $0.remedy.english.hasPrefix("redis-cli CONFIG SET maxmemory") }
        )
    }

    @Test("rights of the user that the daemon does not need are named")
    func rights() {
        var known = report()
        known.excessRights = ["KEYS", "FLUSHALL"]
        let found = findings(known)
        #expect(found.count == 1 && found[0].text.english.hasSuffix("may do more than it needs: KEYS, FLUSHALL"))
        #expect(found[0].gravity == .warning && found[0].remedy.english.contains("/httpdnsd.acl"))
    }
}
