// The exact text and JSON of reports on switches and providers.

import FoundationEssentials
import Testing

@testable import Control

@Suite("Switches")
struct SwitchReportTests {
    private let all = SwitchReport(scope: ".", secondsLeft: 600, untilSeconds: 1_700_000_000)
    private let rule = SwitchReport(scope: "corp.example")
    private let proxy = SwitchReport(scope: ".", reason: "http_proxy is set and direct-only is true")

    @Test("a switch report states the names, the duration and the reason")
    func text() {
        #expect(
            Reply.switched(all).rendered(asJSON: false)
                == "httpdns is off for all names, until 22:13:20Z (10m)\n")
        #expect(
            Reply.switched(rule).rendered(asJSON: false)
                == "httpdns is off for corp.example and everything under it, until switched on\n")
        #expect(
            Reply.switched(proxy).rendered(asJSON: false)
                == "httpdns is off for all names: http_proxy is set and direct-only is true\n")
        #expect(Reply.switched(nil).rendered(asJSON: false) == "httpdns is on\n")
    }

    @Test("scripts get the same as JSON")
    func asJSON() {
        #expect(
            Reply.switched(all).rendered(asJSON: true)
                == #"{"switched":{"left_s":600,"reason":"operator","scope":".","until_s":1700000000}}"# + "\n")
        #expect(
            Reply.switched(rule).rendered(asJSON: true)
                == #"{"switched":{"reason":"operator","scope":"corp.example"}}"# + "\n")
        #expect(Reply.switched(nil).rendered(asJSON: true) == #"{"switched":null}"# + "\n")
    }

    @Test("status has a line for switches only when something is off")
    func status() throws {
        var status = StatusReport(uptimeSeconds: 0, processID: 1, listeners: [], threads: 1)
        #expect(!status.text.contains("switched"))
        status.switches = [all, rule]
        #expect(
            status.text.hasSuffix(
                "\nswitched   off for all names, until 22:13:20Z (10m) | "
                    + "off for corp.example and everything under it, until switched on\n"))
        let line = status.rendered(asJSON: true)
        #expect(try JSONDecoder().decode(StatusReport.self, from: Data(line.utf8)) == status)
    }

    @Test(
        "what is left is told in its two largest units",
        arguments: [
            (0, "0s"), (1, "1s"), (60, "1m"), (61, "1m1s"), (599, "9m59s"), (3_600, "1h"), (3_601, "1h"),
            (5_400, "1h30m"),
            (86_400, "1d"), (90_000, "1d1h"), (2_592_000, "30d"),
        ])
    func span(_ seconds: Int, _ text: String) {
        #expect(LineFormat.span(seconds: seconds) == text)
    }
}

@Suite("Providers")
struct ProvidersReportTests {
    private var providers: [StatsReport.Provider] {
        var alidns = StatsReport.Provider(name: "alidns", dialect: "json", state: "up")
        (alidns.requests, alidns.names, alidns.share, alidns.success) = (48_210, 51_000, 0.81, 0.9996)
        (alidns.latencyMilliseconds.p50, alidns.latencyMilliseconds.p95) = (18, 40)
        (alidns.divergences, alidns.trust, alidns.contradictions) = (2, 0.25, 1)
        alidns.keyExchange = "X25519MLKEM768"
        alidns.failures = ["tls": 3, "timeout": 14, "http": 3]
        alidns.addresses = [.init("223.5.5.5", state: "up"), .init("223.6.6.6", state: "down")]
        (alidns.connections.open, alidns.connections.opened) = (2, 31)
        (alidns.connections.reused, alidns.connections.retried) = (48_000, 1)
        var volc = StatsReport.Provider(name: "volc", dialect: "volcengine", state: "throttled")
        (volc.retrySeconds, volc.clockOffsetMilliseconds, volc.usesProxy) = (12, -3_600_000, true)
        var billed = StatsReport.Provider.Billed()
        (billed.day, billed.month) = (["client": 0, "refresh": 0], ["client": 800, "refresh": 1400, "hedge": 0])
        (billed.quota, billed.quotaShare) = ("2000/month", 1.1)
        volc.billed = billed
        var other = StatsReport.Provider(name: "other", dialect: "doh", state: "unmeasured")
        var shadow = StatsReport.Provider.Shadow()
        (shadow.asked, shadow.same, shadow.overlapping, shadow.different, shadow.failed) = (20, 15, 3, 1, 1)
        other.shadow = shadow
        return [alidns, volc, other]
    }

    @Test("each provider has a line in a table, and below it what is worth telling")
    func table() {
        #expect(ProvidersReport(providers).rendered(asJSON: false) == ProvidersReportTests.text)
        #expect(ProvidersReport([]).text == "no providers\n")
    }

    @Test("nameservers have lines of their own, behind the providers")
    func nameservers() {
        let corp = StatsReport.Provider(name: "corp", dialect: "dns", state: "up")
        let lines = ProvidersReport(providers, nameservers: [corp]).text.split(separator: "\n")
        #expect(lines.last?.hasPrefix("corp    dns         up ") == true)
        var status = StatusReport(uptimeSeconds: 1, processID: 2, listeners: [], threads: 1)
        #expect(!status.text.contains("named"))
        status.nameservers = [
            .init(name: "corp", state: "up", latencyMilliseconds: 3), .init(name: "b", state: "down"),
        ]
        #expect(status.text.contains("named      corp up 3 ms | b down\n"))
    }

    private static let text = """
        name    dialect     state          share   p50    p95    success  requests  names   \
        connections open/opened/reused/retried
        alidns  json        up             81.0 %  18 ms  40 ms  99.9 %   48,210    51,000  2/31/48000/1
          addresses 223.5.5.5 up, 223.6.6.6 down
          failures timeout 14, http 3, tls 3
          returned mismatched addresses 2 times, see evidence; credibility 25.0 %
          contradicted expect of a rule 1 time, see evidence
          key exchange X25519MLKEM768, post-quantum
        volc    volcengine  throttled 12s  -       -      -      -        0         0       0/0/0/0
          clock 3600000 ms behind the local clock
          uses a proxy
          billed today 0; this month 2,200 (refresh 1,400, client 800)
          quota 2000/month, 100.0 % used
        other   doh         unmeasured     -       -      -      -        0         0       0/0/0/0
          shadow requests 20: same 15, overlapping 3, different 1, failed 1

        """

    @Test("scripts get the same as JSON, with numbers that are no numbers, too")
    func asJSON() throws {
        let line = ProvidersReport(providers).rendered(asJSON: true)
        #expect(try JSONDecoder().decode(ProvidersReport.self, from: Data(line.utf8)) == ProvidersReport(providers))
        #expect(line.contains(#""retry_s":12"#) && line.contains(#""clock_offset_ms":-3600000"#))
        #expect(line.contains(#""shadow":{"asked":20,"different":1,"failed":1,"overlapping":3,"same":15}"#))
        var stats = StatsReport()
        stats.providers = providers
        stats.providers[0].share = .nan
        #expect(stats.rendered(asJSON: true).contains(#""share":"none""#))
        #expect(stats.rendered(asJSON: false).contains("providers.alidns.success"))
    }

    @Test("what was reset is counted")
    func reset() {
        #expect(Reply.reset(1).rendered(asJSON: false) == "reset 1 provider\n")
        #expect(Reply.reset(3).rendered(asJSON: false) == "reset 3 providers\n")
        #expect(Reply.reset(3).rendered(asJSON: true) == #"{"reset":3}"# + "\n")
    }

    @Test(
        "a share is cut, not rounded, so that 100 % means all",
        arguments: [
            (0, "0.0 %"), (1, "100.0 %"), (0.9999, "99.9 %"), (0.57, "57.0 %"), (0.29, "29.0 %"), (-1, "0.0 %"),
            (2, "100.0 %"), (.nan, "0.0 %"), (.infinity, "100.0 %"),
        ] as [(Double, String)])
    func percent(_ share: Double, _ text: String) {
        #expect(LineFormat.percent(share) == text)
    }
}
