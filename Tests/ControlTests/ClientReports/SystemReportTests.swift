// The output of `system`.

import Control
import Testing

@Suite("Reports of a takeover")
struct SystemReportTests {
    private func report(_ record: SystemReport.Record, leads: Bool, changed: [String] = []) -> SystemReport {
        SystemReport(
            manager: "NetworkManager", record: record, nameserver: "127.0.0.1", leadsToDaemon: leads,
            answering: ["127.0.0.1", "::1"], changed: changed)
    }

    @Test("a machine uses the daemon only where all is as it was made, and names come from it")
    func inUse() {
        #expect(report(.complete, leads: true).isInUse)
        #expect(!report(.complete, leads: false).isInUse)
        #expect(!report(.unfinished, leads: true).isInUse)
        #expect(!report(.none, leads: true).isInUse)
        #expect(!report(.complete, leads: true, changed: ["/etc/resolv.conf"]).isInUse)
    }

    @Test("the text names the manager of resolv.conf and says whether the daemon answers")
    func text() {
        let text = report(.complete, leads: true).rendered(asJSON: false)
        #expect(text.contains("httpdnsd: used by this machine\n") && text.contains("NetworkManager"))
        #expect(text.contains("daemon answers at: 127.0.0.1 ::1\n"))
        #expect(report(.unfinished, leads: false).rendered(asJSON: false).contains("system restore"))
    }

    @Test("JSON has the same")
    func json() {
        let text = report(.none, leads: false, changed: ["/a"]).rendered(asJSON: true)
        #expect(
            text == """
                {"answering":["127.0.0.1","::1"],"changed":["/a"],"keeper":"NetworkManager","leads_to_daemon":false,\
                "nameserver":"127.0.0.1","other_ports":[],"record":"none"}

                """)
    }
}
