// The commands `network`, `network history` and the network lines of `status`: requests in both forms and their exact
// replies.

import Control
import FoundationEssentials
import Testing

@Suite("Network reports")
struct NetworkReportTests {
    private func current(
        state: NetworkReport.State = .stable, words: String = "wifi, gateway 192.168.1.1", portal: String? = nil,
        nat64Prefix: String? = nil
    ) -> NetworkReport.Current {
        NetworkReport.Current(
            id: state == .none ? "" : "6f2c1a09", words: words, state: state, seconds: 8_040,
            families: state == .none ? [] : ["IPv4", "IPv6"], changes: 3, lastRecoveryMilliseconds: 1_340,
            portal: portal, nat64Prefix: nat64Prefix, nameserverSource: "/run/systemd/resolve/resolv.conf")
    }

    private let known = [
        NetworkReport.Known(
            id: "6f2c1a09", words: "wifi, gateway 192.168.1.1", firstSeenSeconds: 1_795_000_000, lastSeenSeconds: nil,
            times: 12),
        NetworkReport.Known(
            id: "00c0ffee", words: "", firstSeenSeconds: 1_795_264_496, lastSeenSeconds: 1_795_264_496, times: 1,
            carrier: ["198.51.0.0/16"]),
    ]

    @Test("the network in use is told in words, with what leads out of it and with those that are known")
    func text() {
        let report = NetworkReport(
            current: current(
                portal: "suspected since 12:34:56Z: all providers are redirected", nat64Prefix: "64:ff9b::/96"),
            known: known,
            exits: [
                NetworkReport.Exit(address: "2001:db8::7", provider: "google", ageSeconds: 130),
                NetworkReport.Exit(address: "203.0.113.7", provider: "alicloud", ageSeconds: 5),
            ], carrier: ["203.0.0.0/16"])
        #expect(
            report.rendered(asJSON: false) == """
                network    6f2c1a09 (wifi, gateway 192.168.1.1)
                in use     for 2h14m
                routes     IPv4, IPv6
                changes    3, last recovery 1,340 ms
                servers    from /run/systemd/resolve/resolv.conf
                NAT64      64:ff9b::/96
                portal     suspected since 12:34:56Z: all providers are redirected
                exit       203.0.113.7 by alicloud, 5s ago
                exit       2001:db8::7 by google, 2m10s ago
                carrier    203.0.0.0/16

                known     last seen             network                    times
                6f2c1a09  in use                wifi, gateway 192.168.1.1  12
                00c0ffee  2026-11-21 12:34:56Z  -, carrier 198.51.0.0/16   1

                """)
    }

    @Test("the report tells no network, a changing network and an unwatched network apart")
    func states() {
        #expect(
            NetworkReport(current: current(state: .none)).text == """
                network    none
                lost       for 2h14m
                routes     none
                changes    3, last recovery 1,340 ms
                servers    from /run/systemd/resolve/resolv.conf

                """)
        let changing = NetworkReport(
            current: NetworkReport.Current(id: "6f2c1a09", words: "", state: .changing, seconds: 0))
        #expect(
            changing.text == """
                network    6f2c1a09, changing
                in use     for 0s
                routes     none
                changes    0

                """)
        #expect(NetworkReport(current: nil).text == "the daemon does not watch the network ([network] watch is off)\n")
    }

    @Test("as JSON a report is one line, and reads back the same")
    func asJSON() throws {
        let exit = NetworkReport.Exit(address: "203.0.113.7", provider: "alicloud", ageSeconds: 5)
        let report = NetworkReport(current: current(), known: known, exits: [exit], carrier: ["203.0.0.0/16"])
        let line = report.rendered(asJSON: true)
        #expect(
            line == #"""
                {"carrier":["203.0.0.0/16"],"current":{"age_s":8040,"changes":3,"families":["IPv4","IPv6"],\#
                "id":"6f2c1a09",\#
                "last_recovery_ms":1340,"resolv_conf":"/run/systemd/resolve/resolv.conf","state":"settled",\#
                "words":"wifi, gateway 192.168.1.1"},\#
                "exits":[{"address":"203.0.113.7","age_s":5,"provider":"alicloud"}],\#
                "known":[{"carrier":[],"first_seen_s":1795000000,"id":"6f2c1a09","times":12,\#
                "words":"wifi, gateway 192.168.1.1"},{"carrier":["198.51.0.0/16"],\#
                "first_seen_s":1795264496,"id":"00c0ffee","last_seen_s":1795264496,"times":1,"words":""}]}

                """#)
        #expect(try JSONDecoder().decode(NetworkReport.self, from: Data(line.utf8)) == report)
        #expect(
            NetworkReport(current: nil).rendered(asJSON: true)
                == "{\"carrier\":[],\"exits\":[],\"known\":[]}\n")
    }

    @Test("status says which network is in use, and that a portal may stand in the way")
    func status() {
        var status = StatusReport(uptimeSeconds: 0, processID: 1, listeners: [], threads: 1)
        status.network = current()
        #expect(
            status.text.hasSuffix(
                """
                cache      0 entries, 0 B
                network    6f2c1a09 (wifi, gateway 192.168.1.1)  for 2h14m  changes 3, last recovery 1,340 ms

                """))
        status.network = current(state: .changing, portal: "suspected since 12:34:56Z: x")
        status.switches = [SwitchReport(scope: ".")]
        #expect(
            status.text.hasSuffix(
                """
                network    6f2c1a09 (wifi, gateway 192.168.1.1)  for 2h14m, changing  changes 3, last recovery 1,340 ms
                portal     suspected since 12:34:56Z: x
                switched   off for all names, until switched on

                """))
        status.network = current(state: .none)
        #expect(status.text.contains("\nnetwork    none  for 2h14m  changes 3, last recovery 1,340 ms\n"))
    }

    @Test("the history has a line for each change, and counts them")
    func history() throws {
        let history = NetworkHistoryReport([
            .init(
                seconds: 1_795_264_496, id: "6f2c1a09", words: "wifi, gateway 192.168.1.1", cause: "route",
                recoveryMilliseconds: 1_340),
            .init(seconds: 1_795_264_499, id: "", words: "", cause: "link", recoveryMilliseconds: nil),
        ])
        #expect(
            history.rendered(asJSON: false) == """
                time                  cause  recovery  network
                2026-11-21 12:34:56Z  route  1,340 ms  6f2c1a09 (wifi, gateway 192.168.1.1)
                2026-11-21 12:34:59Z  link   -         none
                ; 2 changes

                """)
        let line = history.rendered(asJSON: true)
        #expect(
            line == #"""
                {"changes":[{"cause":"route","id":"6f2c1a09","recovery_ms":1340,"seconds":1795264496,\#
                "words":"wifi, gateway 192.168.1.1"},{"cause":"link","id":"","seconds":1795264499,"words":""}]}

                """#)
        #expect(try JSONDecoder().decode(NetworkHistoryReport.self, from: Data(line.utf8)) == history)
        #expect(NetworkHistoryReport([]).rendered(asJSON: false) == "; 0 changes\n")
    }

    @Test("what a network calls itself cannot move a cursor or fill a screen")
    func words() {
        let hostile = "wifi \"\u{1B}[2J\u{202E}\"" + String(repeating: "x", count: 500)
        let report = NetworkReport(
            current: current(words: hostile, portal: hostile),
            known: [.init(id: "6f2c1a09", words: hostile, firstSeenSeconds: 0, lastSeenSeconds: nil, times: 1)])
        let history = NetworkHistoryReport([
            .init(seconds: 0, id: "1", words: hostile, cause: hostile, recoveryMilliseconds: nil)
        ])
        for text in [report.text, history.text] {
            #expect(!text.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x202E })
            #expect(text.split(separator: "\n").allSatisfy { $0.utf8.count < 400 })
        }
    }

    @Test("both forms of a request are understood, and what is too much is refused")
    func requests() {
        #expect(outcome("network") == "network current")
        #expect(outcome("network history --json") == "network history as JSON")
        #expect(outcome("{\"command\":\"network\"}") == "network current as JSON")
        #expect(outcome("{\"command\":\"network\",\"verb\":\"history\"}") == "network history as JSON")
        #expect(outcome("network names") == "network names(writesRules: false)")
        #expect(outcome("network names --write --json") == "network names(writesRules: true) as JSON")
        #expect(
            outcome("{\"command\":\"network\",\"verb\":\"names\",\"write\":true}")
                == "network names(writesRules: true) as JSON")
        let usage = "allowed: network, network history, network names [--write]"
        #expect(outcome("network --write") == "error: network needs a verb; \(usage)\n")
        #expect(
            outcome("network history --write")
                == "error: too many arguments of network history; allowed: network history\n")
        #expect(outcome("network current") == "error: unknown verb \"current\" of network; \(usage)\n")
        #expect(outcome("network history 1") == "error: unknown argument \"1\" of network; \(usage)\n")
        #expect(outcome("netwrok") == "error: unknown command \"netwrok\"; did you mean \"network\"? \(allowed)\n")
    }
}
