// What the operator says about probes, in the words of the resolver.

import DNSWire
import Resolver
import Settings
import Testing

@testable import Daemon

@Suite("Conversions")
struct ConversionTests {
    @Test("whether and where probes go is the settings' word")
    func probes() {
        var settings = Settings.defaults
        #expect(Policy(settings, []).probes.isEnabled && Policy(settings, []).probes.ports == [443])
        settings.probe.enabled = false
        settings.probe.ports = [8443, 443]
        #expect(!Policy(settings, []).probes.isEnabled && Policy(settings, []).probes.ports == [8443, 443])
    }

    @Test("what a rule says of probes arrives, and nothing where it is silent", arguments: [true, false, nil])
    func rules(probe: Bool?) throws {
        let match = [try #require(Name("corp.example"))]
        var rule = Settings.Rule(match: match)
        var expected = Rule(match: match)
        #expect(Rule(rule, [:]) == expected)
        rule.probe = probe
        rule.probePorts = [853, 1]
        expected.probe = probe
        expected.probePorts = [853, 1]
        #expect(Rule(rule, [:]) == expected)
    }
}
