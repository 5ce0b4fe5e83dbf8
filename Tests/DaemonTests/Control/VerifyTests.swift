// The commands `verify`, `report`, `verdicts` and `whois` from a provider's answer to their last line, with the
// resolver's own judgement. Only the results of probes are made up.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings
import Testing

@testable import Daemon
@testable import Upstreams

struct VerifyTests {
    private let stand: ResolvingStand
    private let pending: PendingProbes
    private let name: Name
    private let provider: ProviderID
    private let now = Clock.now()
    /// A loopback address, so that no packet leaves the machine.
    private let first = Address.v4(0x7F00_0001)
    /// An address in another prefix, because only one probe per prefix may begin in a second.
    private let second = Address.v4(0x7F00_0102)
    private let certificate = SeenCertificate(
        fingerprint: "ab12", issuer: "CN=Good CA", names: ["a.example"], notBefore: 0, notAfter: 1_796_083_200)

    init() throws {
        stand = try ResolvingStand()
        pending = PendingProbes(stand.resolving)
        name = try #require(Name("a.example"))
        try stand.setProviders(Array(Settings.Provider.builtIn.prefix(1)), now: now)
        provider = try #require(stand.resolving.upstreams.providers.providers.first).id
    }

    private func setPolicy(isEnabled: Bool = true, allowsPrivate: Bool = true) {
        var policy = Policy()
        policy.probes.isEnabled = isEnabled
        policy.probes.ports = [1]
        var rule = Rule(match: [name])
        rule.terms.allowPrivate = true
        if allowsPrivate { rule.terms.probe = true }
        policy.rules = RuleTable([rule])
        stand.resolving.handle(.policyChanged(policy), now: now)
    }

    private func answer(_ addresses: [Address], to type: RecordType = .a) {
        let answer = Answer(records: addresses.map { ResourceRecord(owner: name, address: $0, ttlSeconds: 600) })
        stand.resolving.handle(.volunteered(Question(name, type), answer, provider), now: now)
    }

    /// Ends the next probe; only the resolver knows its address.
    private func found(_ verdict: Verdict, probe number: UInt64) {
        var result = ProbeResult(verdict)
        (result.connectTime, result.handshakeTime) = (.milliseconds(12), .milliseconds(31))
        if verdict == .verified { result.certificate = certificate }
        stand.resolving.handle(.probeFinished(ProbeID(number), result), now: now)
        for news in stand.probed() { pending.take(news, now: now) }
    }

    private func text(_ stream: ControlStream) -> String { String(decoding: stream.unsent, as: UTF8.self) }

    private func verdicts() -> String {
        ListingPages.verdicts(stand.resolving, on: name, wantsJSON: false, now: now).joined()
    }

    @Test("after a restart, addresses from the store are verified beside those of a new answer, or alone")
    func stored() throws {
        setPolicy()
        stand.keep(Question(name, .a), from: .provider, addresses: [first], now: now)
        let stream = try pending.verify(name, wantsJSON: false, now: now)
        stand.resolving.timePassed(now: now)
        // The store is read while queries are served.
        let third = Address.v4(0x7F00_0201)
        stand.keep(Question(name, .a), from: .provider, addresses: [first, third], now: now)
        pending.timePassed(now: now + .milliseconds(100))
        answer([second])
        for time in stride(from: 200, through: 500, by: 100) { pending.timePassed(now: now + .milliseconds(time)) }
        // The AAAA answer is late.
        let six = Address.v6(high: 0, low: 1)
        answer([six], to: .aaaa)
        for time in [600, 700] { pending.timePassed(now: now + .milliseconds(time)) }
        for probe in 0..<4 as Range<UInt64> { found(.verified, probe: probe) }
        for address in [first, second, third, six] { #expect(text(stream).contains("\(address)"), "\(text(stream))") }
        let other = try #require(Name("b.a.example"))
        stand.keep(Question(other, .a), from: .provider, addresses: [first], now: now)
        let alone = try pending.verify(other, wantsJSON: false, now: now)
        for step in 1...51 { pending.timePassed(now: now + .milliseconds(100 * step)) }
        found(.verified, probe: 4)
        #expect(text(alone).contains("127.0.0.1"), "\(text(alone))")
    }

    @Test("verify tells each address as its probe ends, and ends with the last one")
    func verify() throws {
        setPolicy()
        answer([first, second])
        let stream = try pending.verify(name, wantsJSON: false, now: now)
        #expect(text(stream).isEmpty && !stream.isFinished)
        found(.verified, probe: 0)
        let line =
            ":1          verified             connect 12 ms, handshake 31 ms  certificate a.example, by CN=Good CA, "
            + "until 2026-12-01, sha256 ab12\n"
        #expect(text(stream).hasSuffix(line) && !stream.isFinished)
        found(.refused, probe: 1)
        #expect(text(stream).hasSuffix(":1          refused              connect 12 ms, handshake 31 ms\n"))
        #expect(text(stream).count { $0 == "\n" } == 2 && stream.isFinished && pending.nextDeadline == nil)
    }

    @Test("without a verified address verify is refused in the end, so that scripts see it")
    func noneVerified() throws {
        setPolicy()
        answer([first])
        let stream = try pending.verify(name, wantsJSON: true, now: now)
        found(.nameMismatch, probe: 0)
        #expect(!stream.isFinished)
        pending.timePassed(now: now + PendingProbe.othersTime)
        let lines = text(stream).split(separator: "\n")
        #expect(lines.count == 2 && lines[0].contains(#""verdict":"name-mismatch""#))
        #expect(lines[1] == #"{"error":"no address of a.example was verified"}"# && stream.isFinished)
    }

    @Test("a name that is not to be probed is refused with the settings that say so")
    func disabled() throws {
        setPolicy(isEnabled: false)
        answer([first, second])
        let stream = try pending.verify(name, wantsJSON: false, now: now)
        for news in stand.probed() { pending.take(news, now: now) }
        #expect(
            text(stream)
                == "error: a.example is not probed because of [probe] enabled or a [[rule]] with probe = false\n")
        #expect(stream.isFinished)
    }

    @Test("an address that is not public is not probed without a rule, and is named")
    func notPublic() throws {
        setPolicy(allowsPrivate: false)
        answer([first])
        let stream = try pending.verify(name, wantsJSON: false, now: now)
        for news in stand.probed() { pending.take(news, now: now) }
        #expect(text(stream).hasPrefix("127.0.0.1            no result: 127.0.0.1: not a public address"))
        #expect(text(stream).hasSuffix("\nerror: no address of a.example was verified\n") && stream.isFinished)
    }

    @Test("an address that a report is right about is taken out, and one that it is wrong about stays")
    func report() throws {
        setPolicy()
        answer([first, second])
        let wrong = try pending.report(name, first, by: 7, wantsJSON: false, now: now)
        found(.verified, probe: 0)
        #expect(text(wrong) == "probe disagrees: verified; 127.0.0.1 stays in answers\n" && wrong.isFinished)
        let right = try pending.report(name, second, by: 7, wantsJSON: false, now: now)
        found(.refused, probe: 1)
        #expect(text(right) == "probe agrees: refused; 127.0.1.2 was removed from answers\n" && right.isFinished)
        #expect(pending.reportsAccepted == 2 && pending.reportsRefused == 0)
        #expect(verdicts().contains("dropped: unreachable; another address is usable"))
        let whois = ListingPages.whois(second, stand.cache, stand.resolving, wantsJSON: false, now: now)
        let provider = stand.resolving.upstreams.providers.providers[0].name
        let kept = whois.joined()
        #expect(kept.hasPrefix("a.example A ") && kept.hasSuffix("\n; 1 name\n"))
        #expect(verdicts().contains("by \(provider)"))
    }

    @Test("two clients with the same request both get the result, and a recent result is given at once")
    func twoCommands() throws {
        setPolicy()
        answer([first])
        let streams = try (0..<2).map { _ in try pending.verify(name, wantsJSON: false, now: now) }
        found(.verified, probe: 0)
        #expect(streams.allSatisfy { $0.isFinished } && text(streams[0]) == text(streams[1]))
        let again = try pending.verify(name, wantsJSON: false, now: now + .seconds(1))
        for news in stand.probed() { pending.take(news, now: now + .seconds(1)) }
        #expect(again.isFinished && text(again) == text(streams[0]))
    }
}
