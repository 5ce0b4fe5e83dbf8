// The findings about providers, nameservers, certificates, the clock and IPv6.

@testable import httpdnsctl
import Testing

@Suite("The way of the daemon to others")
struct UpstreamCheckTests {
    private func place(
        _ provider: String, _ outcome: ProviderCheck.Outcome, isIPv6: Bool = false, kind: String = "https"
    ) -> ProviderCheck.Place {
        ProviderCheck.Place(
            provider: provider, place: isIPv6 ? "[2001:db8::1]:443" : "192.0.2.1:443", isIPv6: isIPv6, kind: kind,
            outcome: outcome)
    }

    private func findings(
        _ places: [ProviderCheck.Place], isClockWrong: Bool = false, hasAuthorities: Bool = true
    ) -> [Finding] {
        ProviderCheck(places: places, isClockWrong: isClockWrong, hasAuthorities: hasAuthorities).findings
    }

    private let past = ClockCheck.Dates(notBefore: 0, notAfter: 86_400, isValidNow: false)

    @Test("providers that are reached give nothing to say")
    func healthy() {
        #expect(findings([place("a", .fine), place("b", .fine, isIPv6: true)]).isEmpty)
    }

    @Test(
        "each way of not being reached has its words",
        arguments: [
            (.refused, "refused"), (.silent(isConnected: false), "connection timed out"),
            (.silent(isConnected: true), "no TLS reply"), (.failed("odd"), "odd"),
            (.untrusted("self-signed", issuer: "CN = Portal"), "certificate by CN = Portal: self-signed"),
            (.wrongName("cdn.example"), "is for cdn.example"),
        ] as [(ProviderCheck.Outcome, String)])
    func outcomes(outcome: ProviderCheck.Outcome, words: String) {
        let alone = findings([place("a", outcome)])
        #expect(alone.count == 1 && alone[0].gravity == .fault && alone[0].text.english.contains(words), "\(alone)")
        #expect(findings([place("a", outcome), place("a", .fine, isIPv6: true)]).map(\.gravity) == [.warning])
    }

    @Test("what befell the addresses of a provider alike is said once")
    func alike() {
        let found = findings([place("a", .refused), place("a", .refused), place("a", .failed("x"))])
        #expect(found.count == 2 && found[0].text.english.contains("192.0.2.1:443, 192.0.2.1:443"))
    }

    @Test("a family without a route is said once, and hardly matters beside one that works")
    func families() {
        let gone = findings([place("a", .noRoute), place("b", .noRoute)])
        #expect(gone.map(\.text.english) == ["there is no IPv4 route to a, b"] && gone[0].gravity == .fault)
        #expect(findings([place("a", .fine), place("a", .noRoute, isIPv6: true)]).map(\.gravity) == [.note])
    }

    @Test("what follows from a wrong clock, or from no authorities, is not said of providers")
    func explained() {
        #expect(findings([place("a", .notValidNow(past))], isClockWrong: true).isEmpty)
        #expect(findings([place("a", .notValidNow(past))])[0].text.english.contains("1970-01-01 to 1970-01-02"))
        #expect(findings([place("a", .untrusted("x", issuer: "y"))], hasAuthorities: false).isEmpty)
    }

    @Test("a proxy and what is left out are notes")
    func notes() {
        let found = findings([place("a", .fine, kind: "proxy"), place("b", .notDialled)])
        #expect(found.count == 2 && found.allSatisfy { $0.isNote })
    }

    private func server(
        _ udp: NameserverCheck.Reply, _ tcp: NameserverCheck.Reply, _ large: NameserverCheck.Reply
    ) -> NameserverCheck.Server { NameserverCheck.Server(place: "192.0.2.53:53", udp: udp, tcp: tcp, largeUDP: large) }

    @Test(
        "a nameserver is told by what does not arrive",
        arguments: [
            (.silent, .refused, .silent, "does not answer"),
            (.answered(code: 0, bytes: 60), .silent, .silent, "over TCP"),
            (.silent, .answered(code: 0, bytes: 60), .silent, "over TCP only"),
            (.answered(code: 5, bytes: 12), .answered(code: 5, bytes: 12), .answered(code: 5, bytes: 12), "refuses"),
            (.answered(code: 2, bytes: 12), .answered(code: 2, bytes: 12), .answered(code: 2, bytes: 12), "SERVFAIL"),
            (.answered(code: 0, bytes: 60), .answered(code: 0, bytes: 1400), .silent, "long answers"),
        ] as [(NameserverCheck.Reply, NameserverCheck.Reply, NameserverCheck.Reply, String)])
    func nameservers(
        udp: NameserverCheck.Reply, tcp: NameserverCheck.Reply, large: NameserverCheck.Reply, words: String
    ) {
        let found = NameserverCheck(servers: [server(udp, tcp, large)]).findings
        #expect(found.count == 1 && found[0].text.english.contains(words), "\(found)")
    }

    @Test("a nameserver that is down weighs less beside one that answers")
    func gravity() {
        let (fine, dead) = (NameserverCheck.Reply.answered(code: 0, bytes: 60), NameserverCheck.Reply.silent)
        #expect(NameserverCheck(servers: [server(dead, dead, dead)]).findings.map(\.gravity) == [.fault])
        let both = NameserverCheck(servers: [server(dead, dead, dead), server(fine, fine, fine)])
        #expect(both.findings.map(\.gravity) == [.warning])
        #expect(NameserverCheck(servers: []).findings.isEmpty)
    }

    @Test("each server of a nameserver with a name is judged alone")
    func named() {
        let (fine, dead) = (NameserverCheck.Reply.answered(code: 3, bytes: 60), NameserverCheck.Reply.silent)
        func text(_ udp: NameserverCheck.Reply, _ tcp: NameserverCheck.Reply, forwards: Bool = false) -> String? {
            let named = NameserverCheck.Named(
                nameserver: "corp", place: "10.0.0.53:53", udp: udp, tcp: tcp, forwardsToDaemon: forwards)
            let findings = NameserverCheck(servers: [], named: [named]).findings
            let start = "10.0.0.53:53 of nameserver corp "
            #expect(findings.allSatisfy { $0.gravity == .warning && $0.text.english.hasPrefix(start) })
            return findings.first?.text.english
        }
        #expect(text(fine, fine) == nil)
        #expect(text(dead, dead)?.hasSuffix("does not answer (silence)") == true)
        #expect(text(fine, .refused)?.hasSuffix("does not answer over TCP (connection refused)") == true)
        #expect(text(.noRoute, fine)?.hasSuffix("does not answer over UDP (no route)") == true)
        #expect(text(.answered(code: 5, bytes: 12), fine)?.hasSuffix("refuses to answer this machine") == true)
        #expect(text(fine, fine, forwards: true)?.contains("forwards queries to the daemon") == true)
    }

    private func clock(_ now: Int64, _ certificates: [ClockCheck.Dates], _ isSynchronised: Bool? = true) -> ClockCheck {
        ClockCheck(now: now, releasedAt: 1_795_219_200, certificates: certificates, isSynchronised: isSynchronised)
    }

    @Test("the clock is doubted before the release, and when no provider's certificate is valid")
    func clocks() {
        let later = ClockCheck.Dates(notBefore: 1_900_000_000, notAfter: 1_910_000_000, isValidNow: false)
        let valid = ClockCheck.Dates(notBefore: 0, notAfter: 1_910_000_000, isValidNow: true)
        #expect(clock(1_800_000_000, [valid, later]).findings.isEmpty)
        #expect(clock(1_800_000_000, [later]).findings.isEmpty, "one alone may have been forgotten by its owner")
        #expect(clock(1_800_000_000, [later, later]).findings[0].text.english.hasSuffix("are not valid yet"))
        #expect(clock(1_800_000_000, [past, past]).findings[0].text.english.hasSuffix("have expired"))
        #expect(
            clock(1_795_219_199, [valid]).findings[0].text.english.contains(
                "says 2026-11-20, before this release (2026-11-21)")
        )
        #expect(clock(1_800_000_000, [], false).findings.map(\.gravity) == [.note])
        #expect(clock(1_800_000_000, [], nil).findings.isEmpty)
    }

    @Test("authorities matter only to their users")
    func authorities() {
        #expect(AuthorityCheck(system: .empty, usersOfSystem: [], files: []).findings.isEmpty)
        let empty = AuthorityCheck(system: .empty, usersOfSystem: ["probe", "a", "b", "c"], files: []).findings
        #expect(empty.count == 1 && empty[0].text.english.contains("probe, a, b and 1 more"))
        let file = AuthorityCheck.File(key: "probe.ca-file", path: "/x.pem", store: .missing)
        let missing = AuthorityCheck(system: .present, usersOfSystem: ["probe"], files: [file]).findings
        #expect(missing.map(\.text.english) == ["/x.pem (probe.ca-file) does not exist"])
    }

    private let publicAddress = "20010db8000000000000000000000001 02 40 00 80     eth0\n"
    private let localAddress = "fd000000000000000000000000000002 04 40 00 82     eth0\n"
    private let route =
        "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe80000000000000000000000000000a "
        + "00000400 00000001 00000000 00000003     eth0\n"
    /// The route of every machine that rejects packets without any other route.
    private let rejection =
        "00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 "
        + "ffffffff 00000001 00000000 00200200       lo\n"

    private func routes(
        _ addresses: String, _ routes: String, _ outcomes: [ProviderCheck.Outcome] = [], worksByIPv4: Bool = true
    ) -> [String] {
        RouteCheck(
            addresses: addresses, routes: rejection + routes, outcomes: outcomes, worksByIPv4: worksByIPv4
        ).findings.map(\.text.english)
    }

    @Test("half of IPv6 is told, none of it and all of it are in order")
    func ipv6() {
        #expect(routes("", "").isEmpty && routes(publicAddress, route).isEmpty && routes(localAddress, route).isEmpty)
        #expect(routes(localAddress, "").isEmpty)
        #expect(routes(publicAddress, "")[0].contains("no default route"))
        #expect(routes("", route)[0].contains("no global address"))
        let wide = { (digit: Character, bits: String) in
            "\(digit)\(route.dropFirst().prefix(32))\(bits)\(route.dropFirst(35))"
        }
        for covering in [wide("0", "01"), wide("0", "02"), wide("2", "03"), wide("2", "04") + wide("3", "04")] {
            #expect(routes(publicAddress, covering).isEmpty)
        }
        for narrow in [wide("8", "01"), wide("4", "03"), wide("2", "04"), wide("f", "04"), wide("2", "40")] {
            #expect(routes(publicAddress, narrow)[0].contains("no default route"))
        }
        let hangs = [ProviderCheck.Outcome.silent(isConnected: false)]
        #expect(routes(publicAddress, route, hangs)[0].contains("over IPv6"))
        #expect(routes(publicAddress, route, hangs, worksByIPv4: false).isEmpty)
        #expect(routes(publicAddress, route, hangs + [.fine]).isEmpty)
    }
}
