// One line when the last working provider fails, and one when the first works again.

import DNSWire
import Resolver
import TestSupport
import Testing

@testable import Daemon

@Suite("Outage of all providers")
struct ProviderOutageTests {
    private let start = Instant.testStart

    @Test("is reported once with the reasons, and so is its end")
    func once() {
        var outage = ProviderOutage()
        #expect(outage.changed(to: [.timeout, nil], hasSystemResolver: true, now: start) == nil)
        let begun = outage.changed(
            to: [.timeout, .refused, .timeout, .timeout], hasSystemResolver: true, now: start + .seconds(1))
        #expect(
            begun?.text == "every provider fails (timeout 3, connection refused 1): the system resolver answers")
        let more = outage.changed(to: [.timeout, .refused], hasSystemResolver: true, now: start + .seconds(2))
        #expect(more == nil)
        let ended = outage.changed(to: [.timeout, nil], hasSystemResolver: true, now: start + .seconds(35))
        #expect(ended?.text == "a provider works again after 34 s without any")
        #expect(outage.changed(to: [nil, nil], hasSystemResolver: true, now: start + .seconds(36)) == nil)
    }

    @Test("names what is left without a system resolver")
    func alone() {
        var outage = ProviderOutage()
        let begun = outage.changed(to: [.refused], hasSystemResolver: false, now: start)
        #expect(begun?.text == "every provider fails (connection refused 1): only cached answers are left")
    }

    @Test("does not begin without providers")
    func none() {
        var outage = ProviderOutage()
        #expect(outage.changed(to: [], hasSystemResolver: true, now: start) == nil)
    }
}
