// The reports of verified addresses, made from the resolver's state.

import Control
import DNSWire
import LinuxIO
import Resolver
import Testing

@testable import Daemon

@Suite("Reports about probes")
struct ProbeReportsTests {
    private let name: Name
    private let address = Address.v4(0xC000_0201)
    private let now = Clock.now()

    init() throws {
        name = try #require(Name("a.example"))
    }

    private func target(_ port: UInt16 = 443) -> ProbeTarget { ProbeTarget(name, address, port: port) }

    private func outcome(_ verdicts: [Verdict], _ place: AddressPlace) -> ReportOutcome {
        let findings = verdicts.enumerated().map { index, verdict in
            PendingProbe.Finding(target: target(UInt16(443 + index)), result: ProbeResult(verdict))
        }
        return ReportOutcome(name, address, findings, place)
    }

    @Test("a judged address is reported with its times in whole units, its place with the reason, and its sources")
    func judged() {
        var result = ProbeResult(.untrusted, detail: "self-signed")
        (result.connectTime, result.handshakeTime) = (.microseconds(12_900), .milliseconds(31))
        result.certificate = SeenCertificate(
            fingerprint: "ab", issuer: "CN=I", names: ["x.example"], notBefore: 1, notAfter: 2)
        let report = AddressReport(
            JudgedAddress(
                target(), result, probedAt: now - .milliseconds(2_900), nextProbeAt: now + .seconds(60),
                place: .omittedAsMismatched, sources: [.system, .provider(ProviderID(7))]),
            now: now
        ) { $0 == .system ? "system" : "other" }
        #expect(report.name == "a.example" && report.address == "192.0.2.1" && report.port == 443)
        #expect(report.verdict == "untrusted" && report.detail == "self-signed")
        #expect(report.connectMilliseconds == 12 && report.handshakeMilliseconds == 31)
        #expect(report.certificate?.names == ["x.example"] && report.certificate?.notAfter == 2)
        #expect(report.ageSeconds == 2 && report.nextProbeSeconds == 60 && report.sources == ["system", "other"])
        #expect(report.place == "quarantined" && report.reason == "mismatched; another address is usable")
    }

    @Test("an address that was never probed has no age, and a time that has come since counts as none")
    func unprobed() {
        let report = AddressReport(
            JudgedAddress(
                target(), ProbeResult(.unprobed), probedAt: nil, nextProbeAt: nil, place: .asGiven, sources: []),
            now: now
        ) { _ in "" }
        #expect(report.verdict == "unprobed" && report.ageSeconds == nil && report.nextProbeSeconds == nil)
        #expect(report.connectMilliseconds == nil && report.certificate == nil && report.detail == nil)
        let later = AddressReport(
            JudgedAddress(
                target(), ProbeResult(.verified), probedAt: now + .seconds(3), nextProbeAt: now - .seconds(3),
                place: .quickest, sources: []), now: now
        ) { _ in "" }
        #expect(later.ageSeconds == 0 && later.nextProbeSeconds == 0)
    }

    @Test(
        "a probe disagrees with a report only by verifying, and cannot tell without a verdict",
        arguments: [
            ([.verified], false), ([.refused], true), ([.nameMismatch], true), ([.tlsAlert], true), ([.unprobed], nil),
            ([.timeDoubtful], nil), ([.refused, .verified], false), ([.unprobed, .refused], true),
            ([.unprobed, .verified], false), ([.unprobed, .timeDoubtful], nil),
        ] as [([Verdict], Bool?)])
    func opinions(_ verdicts: [Verdict], _ agrees: Bool?) {
        let outcome = outcome(verdicts, .behind)
        #expect(outcome.agrees == agrees && outcome.found.map(\.verdict) == verdicts.map(\.rawValue))
    }

    @Test("an address is said to be handed out exactly in the places where it is")
    func places() {
        let handedOut = AddressPlace.allCases.filter { outcome([.refused], $0).isHandedOut }
        #expect(handedOut == [.quickest, .slower, .behind, .asGiven, .lastResort])
        #expect(Set(AddressPlace.allCases.map { outcome([.refused], $0).reason }).count == AddressPlace.allCases.count)
        #expect(
            outcome([.refused], .omittedAsUnreachable).text
                == "probe agrees: refused; 192.0.2.1 was removed from answers\n")
        #expect(outcome([.verified], .quickest).text == "probe disagrees: verified; 192.0.2.1 stays in answers\n")
    }

    @Test("a probe that was not begun is explained, and names the settings that would change it")
    func refusals() {
        #expect(
            ProbeRefusal.disabled.words(name, nil)
                == "a.example is not probed because of [probe] enabled or a [[rule]] with probe = false")
        #expect(ProbeRefusal.notPublic.words(name, address).contains("with probe = true"))
        #expect(ProbeRefusal.overload.words(name, nil).hasPrefix("addresses of a.example: "))
        let words = ProbeRefusal.allCases.map { $0.words(name, address) }
        #expect(Set(words).count == words.count)
    }
}
