// What a finding holds.

import Doctor
import Testing

@Suite("Findings")
struct FindingTests {
    @Test("a finding has what was seen and what to do")
    func parts() {
        let finding = Finding(.fault, "port 53", "held by dnsmasq (pid 7)", remedy: "systemctl stop dnsmasq")
        #expect(finding.gravity == .fault && finding.remedy == "systemctl stop dnsmasq")
    }
}
