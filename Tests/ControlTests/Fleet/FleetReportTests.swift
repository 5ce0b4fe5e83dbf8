// The exact text and JSON of the fleet's report.

import FoundationEssentials
import Testing

@testable import Control

@Suite("Report of the fleet")
struct FleetReportTests {
    private var counts: StatsReport.Fleet {
        var counts = StatsReport.Fleet()
        (counts.inUse, counts.trips, counts.answers, counts.awaited) = (1, 2, 7_000, 1_000)
        (counts.made, counts.deferred) = (2_000, 5)
        (counts.leases, counts.endedLeases, counts.alone, counts.timeouts) = (1_500, 3, 400, 100)
        (counts.published, counts.refused) = (1_490, ["unauthenticated": 3])
        return counts
    }

    private func member(
        _ name: String, site: String = "sh-a", settings: String? = "0badcafe", seen: Int = 3, isThis: Bool = false
    ) -> FleetReport.Member {
        var member = FleetReport.Member(name, site: site, version: "0.1.0", settings: settings, isThis: isThis)
        (member.seenSeconds, member.uptimeSeconds, member.saved, member.leases) = (seen, 3_700, 8_000, 1_500)
        (member.alone, member.callMillisecondsP95, member.entriesInCache) = (400, 0.804, 12_345)
        return member
    }

    private func report(
        _ members: [FleetReport.Member], fault: String? = nil, membersFault: String? = nil
    ) -> FleetReport {
        FleetReport(
            StatusReport.Fleet(server: "redis://192.0.2.7:6379", site: "sh-a", fault: fault), counts,
            callMilliseconds: FleetReport.CallTimes(p50: 0.21, p95: 0.8), members: members, membersFault: membersFault)
    }

    private var usual: FleetReport {
        var report = report([
            member("one", seen: 0, isThis: true), member("two"), member("three", settings: "deadbeef"),
            member("four", seen: 21), member("five", site: "bj", settings: "deadbeef"), member("six", settings: nil),
        ])
        (report.evictionPolicy, report.maxMemoryBytes, report.excessRights) = ("volatile-ttl", 256 << 20, ["KEYS"])
        return report
    }

    @Test("a few lines about this member, and a table in which those with other settings and late ones are first")
    func text() {
        #expect(usual.rendered(asJSON: false) == FleetReportTests.text)
    }

    private static let text = """
        fleet      site sh-a | redis://192.0.2.7:6379 used
        saved      80.0 % of 10,000 requests: 7,000 by answers of others, 1,000 by waiting for them
        asked      1,500 with a lease, 400 without Redis, 100 after a timeout of Redis; waits that took too long: 3; \
        deferred: 5
        shared     1,490 answers; refused values: 3 (unauthenticated 3)
        calls      p50 0.21 ms, p95 0.80 ms; Redis was switched off 2 times
        redis      at most 256.0 MiB, maxmemory-policy volatile-ttl, unneeded rights: KEYS
        members    6, 1 late | site sh-a 5, bj 1 | version 0.1.0 6
        drift      1 member of site sh-a with other settings: three; compare httpdnsd --print-effective and httpdnsctl \
        rule ls there and here

        member  site  version  settings  seen  up     saved  leases  alone  p95      in cache
        one     sh-a  0.1.0    0badcafe  0s    1h01m  8,000  1,500   400    0.80 ms  12,345    this one
        three   sh-a  0.1.0    deadbeef  3s    1h01m  8,000  1,500   400    0.80 ms  12,345    other settings
        four    sh-a  0.1.0    0badcafe  21s   1h01m  8,000  1,500   400    0.80 ms  12,345    late
        five    bj    0.1.0    deadbeef  3s    1h01m  8,000  1,500   400    0.80 ms  12,345
        six     sh-a  0.1.0    -         3s    1h01m  8,000  1,500   400    0.80 ms  12,345
        two     sh-a  0.1.0    0badcafe  3s    1h01m  8,000  1,500   400    0.80 ms  12,345

        """

    @Test("before the first request nothing is claimed, and a fault is told")
    func first() {
        let own = FleetReport.Member("one", site: "sh-a", version: "0.1.0", settings: nil, isThis: true)
        let report = FleetReport(
            StatusReport.Fleet(server: "unix:/r", site: "sh-a", fault: "no such file"), StatsReport.Fleet(),
            callMilliseconds: nil, members: [own], membersFault: "Redis is not used")
        #expect(report.hitShare == nil && report.drift == 0)
        #expect(
            report.text == """
                fleet      site sh-a | unix:/r not used: no such file
                saved      no requests yet
                asked      0 with a lease, 0 without Redis, 0 after a timeout of Redis; waits that took too long: 0; \
                deferred: 0
                shared     0 answers; refused values: 0
                calls      none yet; Redis was switched off 0 times
                members    only this one is known: Redis is not used

                member  site  version  settings  seen  up  saved  leases  alone  p95  in cache
                one     sh-a  0.1.0    -         0s    -   0      0       0      -    -         this one

                """)
    }

    @Test("the text about a large fleet fits a screen, and names the members that differ")
    func large() {
        let others = (1000..<1999).map { member("m\($0)", settings: $0 < 1990 ? "0badcafe" : "deadbeef") }
        var report = report([member("one", isThis: true)] + others)
        report.membersInAll = 1500
        #expect(report.drift == 9)
        let lines = report.text.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("members    1,500 | site sh-a 1,000 | version 0.1.0 1,000") })
        #expect(lines.contains { $0.contains("m1990, m1991, m1992, m1993, m1994 and 4 more; compare httpdnsd ") })
        #expect(lines.last == "1,480 more members: httpdnsctl --json fleet")
        let names = lines.suffix(21).dropLast().map { $0.prefix { $0 != " " } }
        #expect(names.prefix(10) == ["one"] + (1990..<1999).map { "m\($0)" } && names.last == "m1009")
    }

    @Test("scripts get the same as JSON, and the report back from it")
    func asJSON() throws {
        let line = usual.rendered(asJSON: true)
        #expect(FleetReport(answer: Array(line.utf8)) == usual)
        #expect(FleetReport(answer: Array(#"{"error":"there is no fleet"}"#.utf8)) == nil)
        var short = report([member("one", isThis: true)], fault: "lost", membersFault: "Redis is not used")
        short.maxMemoryBytes = 0
        #expect(
            short.rendered(asJSON: true)
                == #"{"alone":400,"answers":7000,"awaited":1000,"call_ms":{"p50":0.21,"p95":0.8},"deferred":5,"#
                + #""drift":0,"ended_leases":3,"excess_rights":[],"fault":"lost","hit_share":0.8,"leases":1500,"#
                + #""made":2000,"max_memory":0,"#
                + #""members":[{"alone":400,"call_ms_p95":0.804,"in_cache":12345,"is_this":true,"leases":1500,"#
                + #""member":"one","saved":8000,"seen_s":3,"settings":"0badcafe","site":"sh-a","uptime_s":3700,"#
                + #""version":"0.1.0"}],"members_fault":"Redis is not used","published":1490,"#
                + #""refused":{"unauthenticated":3},"saved":8000,"server":"redis://192.0.2.7:6379","site":"sh-a","#
                + #""timeouts":100,"trips":2}"# + "\n")
    }

    @Test("text of other members cannot move the cursor, and a report of many is sent")
    func hostile() {
        let many = (0..<1000).map { _ in member("a\u{1B}[2J\(String(repeating: "x", count: 300))") }
        var report = report([member("one", isThis: true)] + many)
        report.excessRights = ["\u{1B}[2J"]
        #expect(report.text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value < 0x7F || $0 == "\n" })
        #expect(report.rendered(asJSON: true).utf8.count < 2 << 20)
        #expect(report.text.utf8.count < 64 * 1024)
    }
}
