// The lines of `explain` about the order of upstreams and about probes by connections.

import Control
import DNSWire
import Resolver
import Settings
import TestSupport
import Testing

@testable import Daemon

struct ExplainOrderTests {
    private let name = "www.example.com"

    private func stand(probes: Bool = true) -> ExplainStand {
        var policy = ExplainStand.policy
        policy.probes.isEnabled = probes
        policy.order = .systemFirst
        return ExplainStand(policy: policy)
    }

    private func order(_ stand: ExplainStand) throws -> String? {
        guard case .running(_, let order) = try stand.report(name).stage else { return nil }
        return order
    }

    @Test("with the providers first there is nothing to say")
    func providersFirst() throws {
        #expect(try order(ExplainStand()) == nil)
    }

    @Test("the system resolver is first without a verdict, and with a good one")
    func systemFirst() throws {
        let stand = stand()
        let asked = "a provider is asked only if it fails or is late"
        #expect(try order(stand) == "system-first: no verdict on the system resolver's answer yet; \(asked)")
        #expect(try stand.report(name).next.prefix(2) == ["asks the system resolver", "asks alidns too after 1000 ms"])
        try stand.ask(name)
        try stand.answer("system", "20.30.0.7")
        stand.pass(.seconds(1))
        try stand.found(.verified, at: "20.30.0.7")
        #expect(try order(stand) == "system-first: the system resolver's answer is verified; \(asked)")
        let off = "system-first: probes are off, so its answer is not verified; \(asked)"
        #expect(try order(self.stand(probes: false)) == off)
    }

    @Test("the providers are first after a forged answer, and then the system resolver has to prove itself")
    func forged() throws {
        let stand = stand()
        try stand.ask(name)
        try stand.answer("system", "20.30.0.66")
        stand.pass(.seconds(1))
        try stand.found(.nameMismatch, at: "20.30.0.66")
        #expect(try order(stand) == "providers-first for 9m59s: the system resolver's answer was mismatched")
        try stand.answer("alidns", "20.30.0.7")
        #expect(stand.resolver.lookupsInFlight == 0)
        stand.pass(.seconds(601))
        let late = "system-first, but its answer must be verified first: an earlier one was mismatched"
        #expect(try order(stand) == late)
    }

    @Test("the providers are first after an answer that contradicts a rule, and then the system resolver is again")
    func contradiction() throws {
        let text = "[[rule]]\nmatch = [\"example.com\"]\norder = \"system-first\"\nexpect = {max-ttl = \"1m\"}\n"
        let stand = ExplainStand(policy: Policy(try Settings.parse(bytes: Array(text.utf8), file: "f"), []))
        try stand.ask(name)
        try stand.answer("system", "20.30.0.66", ttl: 61)
        #expect(try order(stand) == "providers-first for 10m: the system resolver's answer contradicted expect")
        try stand.answer("alidns", "20.30.0.7", ttl: 60)
        stand.pass(.seconds(601))
        #expect(try order(stand)?.hasPrefix("system-first: ") == true)
    }

    @Test("a name that goes to the system resolver alone has no order")
    func systemOnly() throws {
        let stand = stand()
        stand.handle(.switchedOff([.root: nil]))
        #expect(try order(stand) == nil)
    }

    @Test("a rule's order and port are told as they are written, and the verdict with the time of the connection")
    func rule() throws {
        let text = "[[rule]]\nmatch = [\"example.com\"]\norder = \"system-first\"\nconnect = 8080\n"
        let settings = try Settings.parse(bytes: Array(text.utf8), file: "f")
        let stand = ExplainStand(policy: Policy(settings, []))
        try stand.ask(name)
        try stand.answer("system", "20.30.0.7")
        stand.pass(.seconds(1))
        try stand.found(.connected, at: "20.30.0.7", in: 7)
        let said = try stand.text(name)
        #expect(said.contains("rule     example.com: order = system-first, connect = 8080\n"), "\(said)")
        #expect(said.contains("20.30.0.7:8080 connected, 0s ago, 7 ms: quickest\n"), "\(said)")
    }
}
