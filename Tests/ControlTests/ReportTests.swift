// The reports to the letter: scripts and eyes rely on them.

import Control
import FoundationEssentials
import Testing

@Suite("Reports")
struct ReportTests {
    private var stats: StatsReport {
        var stats = StatsReport()
        stats.version = "0.9.0"
        stats.uptimeSeconds = 61
        (stats.queries.total, stats.queries.udp, stats.queries.tcp) = (28, 20, 8)
        (stats.responses.cache, stats.responses.stale, stats.responses.provider) = (7, 6, 5)
        (stats.responses.system, stats.responses.local) = (4, 3)
        (stats.responses.refused, stats.responses.failure) = (0, 0)
        stats.rcodes = ["NXDOMAIN": 2, "NOERROR": 23]
        stats.dropped = ["malformed": 1]
        (stats.inflight, stats.unsent) = (2, 1)
        (stats.connections.open, stats.connections.refused, stats.system.foreignReplies) = (3, 4, 5)
        stats.connections.evicted = 6
        (stats.latencyMicroseconds.provider.p50, stats.latencyMicroseconds.provider.p99) = (900, 9000)
        stats.latencyMicroseconds.system.p95 = 8
        (stats.cache.entries, stats.cache.bytes, stats.cache.hits) = (10, 4096, 13)
        var provider = StatsReport.Provider(name: "alidns", dialect: "json", state: "up")
        (provider.requests, provider.names, provider.failures) = (5, 6, ["timeout": 1])
        provider.results = ["success": 3, "timeout": 1]
        (provider.latencyMilliseconds.p50, provider.latencyMilliseconds.p95) = (18, 40)
        (provider.connections.open, provider.connections.opened, provider.connections.reused) = (1, 2, 3)
        (provider.share, provider.success) = (1, 0.9987)
        provider.addresses = [.init("192.0.2.1", state: "up")]
        stats.providers = [provider]
        stats.system.servers = ["192.0.2.53:53", "[2001:db8::53]:53"]
        stats.system.looping = ["127.0.0.2:53"]
        (stats.blocked.rules, stats.blocked.lists) = (["ads.example": 1], ["/etc/ads.list": 2])
        (stats.probe.done, stats.probe.verdicts) = (9, ["verified": 8, "name-mismatch": 1])
        (stats.probe.quarantined, stats.probe.dropped, stats.probe.divergences) = (1, 2, 1)
        (stats.probe.running, stats.probe.skipped, stats.probe.evidence) = (3, ["overload": 6], 7)
        (stats.probe.reports.accepted, stats.probe.reports.refused) = (4, 5)
        (stats.process.residentBytes, stats.process.openDescriptors, stats.process.threads) = (7_000_000, 17, 3)
        (stats.process.startSeconds, stats.process.settingsSeconds) = (1_800_000_000, 1_800_000_900)
        stats.udpReceiveErrors = 2
        stats.log.dropped = 3
        stats.network = network
        var receiver = StatsReport.Receiver(name: "https://192.0.2.7")
        (receiver.state, receiver.posts, receiver.failures) = ("failing", 7, ["timeout": 3])
        (receiver.waiting, receiver.accepted, receiver.dropped) = (4, 5, 2)
        stats.notify = [receiver]
        return stats
    }

    private var network: StatsReport.Network {
        var network = StatsReport.Network()
        (network.id, network.kind, network.changes, network.lastRecoveryMilliseconds) = ("6f2c1a09", "wifi", 3, 340)
        network.causes = ["route": 2, "wake": 1]
        var recovery = StatsReport.Network.Recovery()
        (recovery.count, recovery.p50, recovery.p95) = (2, 340, 410)
        (recovery.sumMilliseconds, recovery.atMost) = (700, ["250": 0, "500": 2])
        network.recoveryMilliseconds = ["route": recovery]
        return network
    }

    @Test("stats as JSON is one line with the fixed keys in order")
    func statsJSON() {
        #expect(
            Reply.stats(stats).rendered(asJSON: true) == #"""
                {"blocked":{"lists":{"/etc/ads.list":2},"others":0,"rules":{"ads.example":1}},\#
                "cache":{"bytes":4096,"entries":10,"evictions":0,"hits":13,"insertions":0,"limit_bytes":0,\#
                "misses":0},\#
                "dropped":{"malformed":1},"durations":{},"files":{"faulty":0},"inflight":2,\#
                "latency_us":{"cache":{"p50":0,"p95":0,"p99":0},"provider":{"p50":900,"p95":0,"p99":9000},\#
                "stale":{"p50":0,"p95":0,"p99":0},"system":{"p50":0,"p95":8,"p99":0}},"log":{"dropped":3},\#
                "nameservers":[],\#
                "network":{"causes":{"route":2,"wake":1},"changes":3,"id":"6f2c1a09","kind":"wifi",\#
                "last_recovery_ms":340,\#
                "recovery_ms":{"route":{"at_most":{"250":0,"500":2},"count":2,"p50":340,"p95":410,"sum":700}}},\#
                "notify":[{"accepted":5,"dropped":2,"failures":{"timeout":3},"name":"https://192.0.2.7","posts":7,\#
                "state":"failing","waiting":4}],\#
                "pages":{"cut":0,"requests":0},\#
                "prefetch":{"failed":0,"started":0,"succeeded":0,"used":0},\#
                "probe":{"broken_evidence":0,"divergences":1,"done":9,"dropped":2,\#
                "durations":{"counts":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,\#
                0,0,0,0,0,0,0,0,0,0,0],"sum_us":0},\#
                "evidence":7,\#
                "forgotten_names":0,"lost":0,"quarantined":1,\#
                "reports":{"accepted":4,"refused":5},"running":3,"skipped":{"overload":6},\#
                "verdicts":{"name-mismatch":1,"verified":8},"waiting":0},\#
                "process":{"anon_bytes":0,"max_fds":0,"open_fds":17,"rss_bytes":7000000,\#
                "settings_time_s":1800000900,"start_time_s":1800000000,\#
                "threads":3},\#
                "providers":[{"addresses":[{"name":"192.0.2.1","state":"up"}],"clock_offset_ms":0,\#
                "connections":{"open":1,"opened":2,"retried":0,"reused":3},"contradictions":0,"dialect":"json",\#
                "divergences":0,"durations":{"counts":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,\#
                0,0,0,0,0,0,0,0,0,0,0],"sum_us":0},\#
                "failures":{"timeout":1},"latency_ms":{"p50":18,"p95":40},"name":"alidns",\#
                "names":6,"proxy":false,\#
                "requests":5,"results":{"success":3,"timeout":1},"share":1,"state":"up","success":0.9987,"trust":1}],\#
                "queries":{"tcp":8,"total":28,"udp":20},"rcodes":{"NOERROR":23,"NXDOMAIN":2},\#
                "responses":{"blocked":0,"cache":7,"failure":0,"fallback":0,"limited":0,"local":3,"provider":5,\#
                "refused":0,\#
                "stale":6,"system":4},"schema":1,\#
                "shares":{"lookups_displaced":0,"requests_displaced":0,"requests_expired":0},"stale":{},\#
                "store":{"batches":0,"dropped":0,"failures":0,"loaded":0,"refused_notes":0,\#
                "written":0},\#
                "system":{"contradictions":0,"divergences":0,\#
                "failures":0,"foreign_replies":5,"looping":["127.0.0.2:53"],\#
                "refused_exchanges":0,"requests":0,"returned_checks":0,\#
                "servers":["192.0.2.53:53","[2001:db8::53]:53"],"stood_in":{},"trust":1},\#
                "tcp":{"evicted":6,"open":3,"refused":4},\#
                "udp_rcvbuf_errors":2,"unsent":1,"uptime_s":61,"version":"0.9.0"}

                """#)
    }

    @Test("stats as text has one aligned line for each number, with dotted names")
    func statsText() {
        #expect(Reply.stats(stats).rendered(asJSON: false) == ReportTests.text)
    }

    private static let text = """
        blocked.lists./etc/ads.list                2
        blocked.others                             0
        blocked.rules.ads.example                  1
        cache.bytes                                4096
        cache.entries                              10
        cache.evictions                            0
        cache.hits                                 13
        cache.insertions                           0
        cache.limit_bytes                          0
        cache.misses                               0
        dropped.malformed                          1
        files.faulty                               0
        inflight                                   2
        latency_us.cache.p50                       0
        latency_us.cache.p95                       0
        latency_us.cache.p99                       0
        latency_us.provider.p50                    900
        latency_us.provider.p95                    0
        latency_us.provider.p99                    9000
        latency_us.stale.p50                       0
        latency_us.stale.p95                       0
        latency_us.stale.p99                       0
        latency_us.system.p50                      0
        latency_us.system.p95                      8
        latency_us.system.p99                      0
        log.dropped                                3
        network.causes.route                       2
        network.causes.wake                        1
        network.changes                            3
        network.id                                 6f2c1a09
        network.kind                               wifi
        network.last_recovery_ms                   340
        network.recovery_ms.route.at_most.250      0
        network.recovery_ms.route.at_most.500      2
        network.recovery_ms.route.count            2
        network.recovery_ms.route.p50              340
        network.recovery_ms.route.p95              410
        network.recovery_ms.route.sum              700
        notify.https://192.0.2.7.accepted          5
        notify.https://192.0.2.7.dropped           2
        notify.https://192.0.2.7.failures.timeout  3
        notify.https://192.0.2.7.posts             7
        notify.https://192.0.2.7.state             failing
        notify.https://192.0.2.7.waiting           4
        pages.cut                                  0
        pages.requests                             0
        prefetch.failed                            0
        prefetch.started                           0
        prefetch.succeeded                         0
        prefetch.used                              0
        probe.broken_evidence                      0
        probe.divergences                          1
        probe.done                                 9
        probe.dropped                              2
        probe.durations.counts                     0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
        probe.durations.sum_us                     0
        probe.evidence                             7
        probe.forgotten_names                      0
        probe.lost                                 0
        probe.quarantined                          1
        probe.reports.accepted                     4
        probe.reports.refused                      5
        probe.running                              3
        probe.skipped.overload                     6
        probe.verdicts.name-mismatch               1
        probe.verdicts.verified                    8
        probe.waiting                              0
        process.anon_bytes                         0
        process.max_fds                            0
        process.open_fds                           17
        process.rss_bytes                          7000000
        process.settings_time_s                    1800000900
        process.start_time_s                       1800000000
        process.threads                            3
        providers.alidns.addresses.192.0.2.1.state up
        providers.alidns.clock_offset_ms           0
        providers.alidns.connections.open          1
        providers.alidns.connections.opened        2
        providers.alidns.connections.retried       0
        providers.alidns.connections.reused        3
        providers.alidns.contradictions            0
        providers.alidns.dialect                   json
        providers.alidns.divergences               0
        providers.alidns.durations.counts          0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
        providers.alidns.durations.sum_us          0
        providers.alidns.failures.timeout          1
        providers.alidns.latency_ms.p50            18
        providers.alidns.latency_ms.p95            40
        providers.alidns.names                     6
        providers.alidns.proxy                     no
        providers.alidns.requests                  5
        providers.alidns.results.success           3
        providers.alidns.results.timeout           1
        providers.alidns.share                     1
        providers.alidns.state                     up
        providers.alidns.success                   0.998
        providers.alidns.trust                     1
        queries.tcp                                8
        queries.total                              28
        queries.udp                                20
        rcodes.NOERROR                             23
        rcodes.NXDOMAIN                            2
        responses.blocked                          0
        responses.cache                            7
        responses.failure                          0
        responses.fallback                         0
        responses.limited                          0
        responses.local                            3
        responses.provider                         5
        responses.refused                          0
        responses.stale                            6
        responses.system                           4
        schema                                     1
        shares.lookups_displaced                   0
        shares.requests_displaced                  0
        shares.requests_expired                    0
        store.batches                              0
        store.dropped                              0
        store.failures                             0
        store.loaded                               0
        store.refused_notes                        0
        store.written                              0
        system.contradictions                      0
        system.divergences                         0
        system.failures                            0
        system.foreign_replies                     5
        system.looping.0                           127.0.0.2:53
        system.refused_exchanges                   0
        system.requests                            0
        system.returned_checks                     0
        system.servers.0                           192.0.2.53:53
        system.servers.1                           [2001:db8::53]:53
        system.trust                               1
        tcp.evicted                                6
        tcp.open                                   3
        tcp.refused                                4
        udp_rcvbuf_errors                          2
        unsent                                     1
        uptime_s                                   61
        version                                    0.9.0

        """

    @Test("a report read back from its JSON is the same")
    func roundTrip() throws {
        let line = Reply.stats(stats).rendered(asJSON: true)
        #expect(try JSONDecoder().decode(StatsReport.self, from: Data(line.utf8)) == stats)
    }

    @Test("the identity holds when every query is answered, dropped or waiting, and for nothing else")
    func identity() {
        #expect(stats.isBalanced)
        #expect(StatsReport().isBalanced)
        let responses: [WritableKeyPath<StatsReport.Responses, Int>] = [
            \.cache, \.stale, \.provider, \.system, \.local, \.refused, \.failure,
        ]
        for path in responses {
            var changed = stats
            changed.responses[keyPath: path] += 1
            #expect(!changed.isBalanced)
            changed.queries.total += 1
            #expect(changed.isBalanced)
            changed.dropped["other", default: 0] += 2
            #expect(!changed.isBalanced)
            changed.inflight -= 2
            #expect(changed.isBalanced)
        }
    }

    @Test("status is a few lines that a person reads")
    func statusText() {
        var status = StatusReport(
            uptimeSeconds: 273_600, processID: 812, listeners: ["127.0.0.1:53", "[::1]:53"], threads: 4)
        status.version = "0.9.0"
        status.providers = [
            .init(name: "alidns", state: "up", latencyMilliseconds: 18),
            .init(name: "volc", state: "throttled, retry in 12 s"),
        ]
        (status.systemServers, status.loopingServers) = (["192.0.2.53:53"], ["127.0.0.2:53"])
        (status.cache.entries, status.cache.bytes, status.cache.hits, status.cache.misses) = (4812, 3_250_586, 964, 36)
        #expect(
            Reply.status(status).rendered(asJSON: false) == """
                httpdnsd 0.9.0  up 3d04h  pid 812  listeners 127.0.0.1:53 [::1]:53 (udp x4, tcp)
                providers  alidns up 18 ms | volc throttled, retry in 12 s
                system     192.0.2.53:53 (forwarding loop: 127.0.0.2:53)
                cache      4,812 entries, 3.1 MiB, 96.4 % hits

                """)
        #expect(
            Reply.status(status).rendered(asJSON: true) == #"""
                {"cache":{"bytes":3250586,"entries":4812,"evictions":0,"hits":964,"insertions":0,"limit_bytes":0,\#
                "misses":36},\#
                "listeners":["127.0.0.1:53","[::1]:53"],"looping_servers":["127.0.0.2:53"],\#
                "pid":812,"providers":[{"latency_ms":18,"name":"alidns",\#
                "state":"up"},{"name":"volc","state":"throttled, retry in 12 s"}],"switches":[],\#
                "system_servers":["192.0.2.53:53"],"threads":4,"uptime_s":273600,"version":"0.9.0"}

                """#)
    }

    @Test("status and reload name the lists, and what is wrong with one")
    func lists() {
        var status = StatusReport(uptimeSeconds: 0, processID: 1, listeners: [], threads: 1)
        status.lists = [
            .init(path: "/a", names: 120_000, fault: nil), .init(path: "/b", names: 1, fault: "/b:2:1: found \"..\""),
        ]
        #expect(
            status.text.hasSuffix(
                "lists      /a 120,000 names | /b 1 name (as before a change: /b:2:1: found \"..\")\n"))
        var leases = StatusReport.List(path: "/l", names: 2, fault: nil)
        (leases.ignoredLines, leases.refusedNames) = (3, 1)
        status.localNames = [leases]
        #expect(status.text.contains("local      /l 2 names, 3 lines ignored, 1 name refused\n"))
        var reload = ReloadReport(needRestart: ["server.threads"])
        reload.keptLists = ["/b:2:1: no", "/c: can't be read"]
        #expect(
            reload.text == """
                settings reloaded; a restart is needed for server.threads; these lists stay as they were:
                /b:2:1: no
                /c: can't be read
                """)
        reload.keptLists = []
        #expect(reload.text == "settings reloaded; a restart is needed for server.threads")
    }

    @Test("a daemon that has just started says so without dividing by nothing")
    func emptyStatus() {
        let status = StatusReport(uptimeSeconds: 0, processID: 1, listeners: [], threads: 1)
        #expect(
            status.text == """
                httpdnsd \(programVersion)  up 0s  pid 1  listeners none
                providers  none
                system     none
                cache      0 entries, 0 B

                """)
    }

    @Test(
        "times, sizes and shares change their unit where the next begins",
        arguments: [
            (59, 1023, 0, 1, "up 59s ", "1,023 entries, 1023 B, 0.0 % hits"),
            (60, 1024, 1, 1, "up 1m00s ", "1,024 entries, 1.0 KiB, 50.0 % hits"),
            (3599, 1_048_575, 999, 1, "up 59m59s ", "1,048,575 entries, 1023.9 KiB, 99.9 % hits"),
            (3600, 1_048_576, 1, 0, "up 1h00m ", "1,048,576 entries, 1.0 MiB, 100.0 % hits"),
            (86_399, 999, 2, 1, "up 23h59m ", "999 entries, 999 B, 66.6 % hits"),
            (86_400, 1_610_612_736, 99_999, 1, "up 1d00h ", "1,610,612,736 entries, 1.5 GiB, 99.9 % hits"),
        ])
    func units(_ seconds: Int, _ size: Int, _ hits: Int, _ misses: Int, _ uptime: String, _ cache: String) {
        var status = StatusReport(uptimeSeconds: seconds, processID: 1, listeners: [], threads: 1)
        (status.cache.entries, status.cache.bytes) = (size, size)
        (status.cache.hits, status.cache.misses) = (hits, misses)
        #expect(status.text.contains(uptime))
        #expect(status.text.hasSuffix("cache      \(cache)\n"), "\(status.text)")
    }
}
