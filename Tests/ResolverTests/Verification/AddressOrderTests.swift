// The order of addresses as a table: the verdicts, and the resulting places.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("The order of addresses")
struct AddressOrderTests {
    private struct Case: CustomTestStringConvertible {
        let rule: String
        /// The verdicts as "VERDICT" or "VERDICT in MILLISECONDS", in the order of the upstream.
        let known: [String]
        var wasVerified = true
        var method = ProbeMethod.handshake
        /// The expected "INDEX PLACE" of all addresses in the answer, in order; below, of all left-out ones.
        let handedOut: [String]
        var omitted: [String] = []

        var testDescription: String { rule }
    }

    private static let cases = [
        Case(
            rule: "nothing is known: as it came", known: ["unprobed", "unprobed"],
            handedOut: ["0 behind", "1 behind"]),
        Case(
            rule: "verified ones go first, the quickest before slower ones, which go by their time",
            known: ["verified in 300", "unprobed", "verified in 10", "verified in 200"],
            handedOut: ["2 quickest", "3 slower", "0 slower", "1 behind"]),
        Case(
            rule: "20 ms more than the quickest is as good",
            known: ["verified in 30", "verified in 31", "verified in 10"],
            handedOut: ["0 quickest", "2 quickest", "1 slower"]),
        Case(
            rule: "half as much again as the quickest is as good",
            known: ["verified in 301", "verified in 200", "verified in 300"],
            handedOut: ["1 quickest", "2 quickest", "0 slower"]),
        Case(
            rule: "what is open goes before what is not as it should be, each in the order given",
            known: ["tls-reset", "expired-certificate", "unprobed", "not-tls", "time-doubtful", "tls-alert"],
            handedOut: ["2 behind", "4 behind", "0 behind", "1 behind", "3 behind", "5 behind"]),
        Case(
            rule: "dead ones are dropped while another is alive",
            known: ["refused", "verified in 10", "timeout", "unreachable"],
            handedOut: ["1 quickest"], omitted: ["0 dropped", "2 dropped", "3 dropped"]),
        Case(
            rule: "a server that only resets is alive", known: ["refused", "tls-reset"],
            handedOut: ["1 behind"], omitted: ["0 dropped"]),
        Case(
            rule: "dead ones stay behind those that are not known to be alive", known: ["refused", "unprobed"],
            handedOut: ["1 behind", "0 last-resort"]),
        Case(
            rule: "mismatched ones are quarantined while another is not mismatched",
            known: ["name-mismatch", "verified in 10", "untrusted"],
            handedOut: ["1 quickest"], omitted: ["0 quarantined", "2 quarantined"]),
        Case(
            rule: "an address of which nothing is known goes before a mismatched one",
            known: ["name-mismatch", "unprobed"],
            handedOut: ["1 behind"], omitted: ["0 quarantined"]),
        Case(
            rule: "no server is better than a foreign one", known: ["name-mismatch", "refused", "timeout"],
            handedOut: ["1 last-resort", "2 last-resort"], omitted: ["0 quarantined"]),
        Case(
            rule: "all mismatched: as it came", known: ["untrusted", "name-mismatch"],
            handedOut: ["0 last-resort", "1 last-resort"]),
        Case(
            rule: "all dead: as it came", known: ["timeout", "refused"],
            handedOut: ["0 last-resort", "1 last-resort"]),
        Case(
            rule: "no address of the name speaks TLS: as it came",
            known: ["refused", "not-tls", "unprobed", "tls-reset"], wasVerified: false,
            handedOut: ["0 as-given", "1 as-given", "2 as-given", "3 as-given"]),
        Case(
            rule: "by connections: the quickest first, unreachable ones last and never left out",
            known: ["timeout", "connected in 90", "unprobed", "connected in 10", "refused", "connected in 50"],
            wasVerified: false, method: .connection,
            handedOut: ["3 quickest", "5 slower", "1 slower", "2 behind", "0 behind", "4 behind"]),
        Case(
            rule: "by connections: all unreachable, as it came", known: ["timeout", "refused"], wasVerified: false,
            method: .connection, handedOut: ["0 last-resort", "1 last-resort"]),
    ]

    @Test("addresses stand where what is known of them puts them", arguments: cases)
    private func table(_ row: Case) throws {
        let addresses = row.known.indices.map(VerificationStand.address)
        let judgements = try row.known.map { text in
            let words = text.split(separator: " ")
            let verdict = try #require(Verdict(rawValue: String(words[0])))
            let time = words.last.flatMap { Int($0) }.map { Duration.milliseconds($0) }
            return Judgement(verdict: verdict, time: time)
        }
        let order = AddressOrder(addresses, wasVerified: row.wasVerified, method: row.method) { address in
            addresses.firstIndex(of: address).map { judgements[$0] } ?? .none
        }
        let text = { (places: [AddressOrder.Place]) in
            places.map { place in
                "\(addresses.firstIndex(of: place.address) ?? -1) \(place.place.rawValue)"
            }
        }
        #expect(text(order.handedOut) == row.handedOut)
        #expect(text(order.omitted) == row.omitted)
    }

    @Test("addresses of about equal latency take turns, and no others do")
    func rotation() {
        var chance = SeededGenerator(seed: 5)
        var firsts: Set<Address> = []
        for _ in 0..<50 {
            var order = AddressOrder((0..<5).map(VerificationStand.address), wasVerified: true) { address in
                let isSlow = address == VerificationStand.address(3)
                let isUnknown = address == VerificationStand.address(4)
                return isUnknown
                    ? .none : Judgement(verdict: .verified, time: .milliseconds(isSlow ? 500 : 20))
            }
            order.rotate(&chance)
            firsts.insert(order.addresses[0])
            #expect(order.addresses.suffix(2) == [VerificationStand.address(3), VerificationStand.address(4)])
            #expect(Set(order.addresses).count == 5)
        }
        #expect(firsts == Set((0..<3).map(VerificationStand.address)))
    }
}

@Suite("Verdicts of one address")
struct KnownAddressTests {
    private let start = Instant.testStart

    private func judged(_ verdicts: [Verdict]) -> Verdict {
        let ports = verdicts.indices.map { UInt16($0 + 1) }
        var known = KnownAddress(VerificationStand.address(1), ports: ports, ttlSeconds: 60, now: start)
        for (port, verdict) in zip(ports, verdicts) where verdict != .unprobed {
            let isKnown = known.found(ProbeResult(verdict), port: port, now: start)
            #expect(isKnown)
        }
        return known.judgement.verdict
    }

    @Test("of several ports a verified one decides, then a mismatched one, then one with a live server")
    func ports() {
        for other in Verdict.allCases {
            #expect(judged([other, .verified]) == .verified)
            if other != .verified { #expect(judged([.untrusted, other]).isMismatched) }
        }
        for dead in Verdict.allCases.filter(\.isDead) {
            for alive: Verdict in [.tlsAlert, .tlsReset, .tlsTimeout, .notTLS, .expiredCertificate, .timeDoubtful] {
                #expect(judged([dead, alive]) == alive)
            }
            #expect(judged([dead, dead]) == dead)
        }
    }

    @Test("an address is unreachable only if every port says so")
    func halfKnown() {
        #expect(judged([.refused, .unprobed]) == .unprobed)
        #expect(judged([.unprobed, .notTLS]) == .notTLS)
    }

    @Test(
        "the pause doubles with each equal verdict, and is that of the verdict's kind",
        arguments: [
            (Verdict.verified, UInt32(60), [60, 120, 240, 480, 960, 1920, 3600, 3600]),
            (.verified, 7200, [7200, 7200]),
            (.verified, 5, [60, 120]), (.tlsReset, 1000, [1000, 2000, 3600]), (.refused, 60, [60, 120, 240, 480, 600]),
            (.nameMismatch, 7200, [600, 600]), (.timeDoubtful, 7200, [60, 60, 60]), (.unprobed, 7200, [60, 60, 60]),
        ])
    func pauses(_ verdict: Verdict, _ ttlSeconds: UInt32, _ pauses: [Int]) {
        var check = Check(port: 443)
        for pause in pauses {
            check.found(ProbeResult(verdict), ttlSeconds: ttlSeconds, now: start)
            #expect(check.nextAt == start + .seconds(pause), "\(verdict) \(ttlSeconds)")
        }
    }

    @Test("another verdict begins with the first pause, and a failure of our own changes no verdict")
    func changes() {
        var check = Check(port: 443)
        for _ in 0..<3 { check.found(ProbeResult(.verified), ttlSeconds: 60, now: start) }
        check.found(ProbeResult(.unprobed), ttlSeconds: 60, now: start)
        #expect(check.result.verdict == .verified && check.nextAt == start + .seconds(60))
        check.found(ProbeResult(.tlsAlert), ttlSeconds: 60, now: start)
        #expect(check.nextAt == start + .seconds(60))
    }
}
