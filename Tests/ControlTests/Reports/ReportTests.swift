// The exact text of the reports, because scripts and people rely on it.

import Control
import Testing

@Suite("Reports")
struct ReportTests {
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
        status.cache = .members([
            "entries": .number(4812), "bytes": .number(3_250_586), "hits": .number(964), "misses": .number(36),
        ])
        #expect(
            status.rendered(asJSON: false) == """
                httpdnsd 0.9.0  up 3d04h  pid 812  listeners 127.0.0.1:53 [::1]:53 (udp x4, tcp)
                providers  alidns up 18 ms | volc throttled, retry in 12 s
                system     192.0.2.53:53 (forwarding loop: 127.0.0.2:53)
                cache      4,812 entries, 3.1 MiB, 96.4 % hits

                """)
        #expect(
            status.rendered(asJSON: true) == #"""
                {"cache":{"bytes":3250586,"entries":4812,"hits":964,"misses":36},\#
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
            reload.sentence == """
                settings reloaded; a restart is needed for server.threads; these lists stay as they were:
                /b:2:1: no
                /c: can't be read
                """)
        reload.keptLists = []
        #expect(reload.sentence == "settings reloaded; a restart is needed for server.threads")
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
        status.cache = .members([
            "entries": .number(size), "bytes": .number(size), "hits": .number(hits), "misses": .number(misses),
        ])
        #expect(status.text.contains(uptime))
        #expect(status.text.hasSuffix("cache      \(cache)\n"), "\(status.text)")
    }

    @Test("where the daemon listens is read from what it says of itself, and nothing from anything else")
    func listeners() {
        let status = StatusReport(uptimeSeconds: 1, processID: 2, listeners: ["127.0.0.1:53"], threads: 1)
        let answer = Array(status.rendered(asJSON: true).utf8)
        #expect(StatusReport(answer: answer)?.listeners == ["127.0.0.1:53"])
        #expect(StatusReport(answer: Array("error: no\n".utf8)) == nil && StatusReport(answer: [0xFF]) == nil)
    }
}
