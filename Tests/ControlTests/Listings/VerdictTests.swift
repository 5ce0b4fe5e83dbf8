// The exact text and JSON of verdicts, results of reports, and names of an address.

import DNSWire
import FoundationEssentials
import Testing

@testable import Control

/// A certificate that is valid until 2026-12-01.
private let certificate = CertificateReport(
    fingerprint: String(repeating: "ab12", count: 16), issuer: "CN=Good CA,O=Good", names: ["a.example", "b.example"],
    notBefore: 1_764_547_200, notAfter: 1_796_083_200)

private func verified() -> AddressReport {
    var address = AddressReport(name: "www.example.com", address: "192.0.2.1", port: 443)
    address.set(verdict: "verified", detail: "")
    (address.connectMilliseconds, address.handshakeMilliseconds, address.certificate) = (12, 31, certificate)
    return address
}

private func quarantined() -> AddressReport {
    var address = AddressReport(name: "www.example.com", address: "2001:db8::66", port: 8443)
    address.set(verdict: "name-mismatch", detail: "421 Misdirected\u{1B}[2J Request")
    (address.connectMilliseconds, address.handshakeMilliseconds) = (3, 4)
    return address
}

@Suite("Verdicts")
struct VerdictTests {
    private var listed: [AddressReport] {
        var (first, second) = (verified(), quarantined())
        (first.ageSeconds, first.nextProbeSeconds, first.place, first.sources) = (192, 60, "quickest", ["alidns", "b"])
        first.reason = "verified, nearly as fast as the fastest"
        (second.ageSeconds, second.place, second.sources) = (5, "quarantined", [])
        second.reason = "another address is not mismatched"
        return [first, second]
    }

    private func listing(_ name: String?, _ pieces: [[AddressReport]], asJSON: Bool = false) -> String {
        var listing = Listing(ofVerdictsOn: name.flatMap { Name($0) }, wantsJSON: asJSON)
        return pieces.map { listing.page(of: $0) }.joined() + listing.end()
    }

    @Test("a step of verify says what was found, how fast, and whose certificate it was")
    func steps() {
        let fingerprint = certificate.fingerprint
        #expect(
            verified().text
                == "192.0.2.1:443        verified             connect 12 ms, handshake 31 ms  certificate a.example, "
                + "b.example, by CN=Good CA,O=Good, until 2026-12-01, sha256 \(fingerprint)\n")
        #expect(
            quarantined().text
                == "[2001:db8::66]:8443  name-mismatch (421 Misdirected\\u{1B}[2J Request)  "
                + "connect 3 ms, handshake 4 ms\n")
        var missing = AddressReport(name: "a", address: "192.0.2.9")
        missing.failure = "the probe has not ended in 10 s"
        #expect(missing.text == "192.0.2.9            no result: the probe has not ended in 10 s\n")
    }

    @Test("scripts get each step as one line of JSON, and read back the same")
    func jsonSteps() throws {
        #expect(
            quarantined().jsonLine == #"""
                {"address":"2001:db8::66","connect_ms":3,"detail":"421 Misdirected\\u{1B}[2J Request",\#
                "handshake_ms":4,"name":"www.example.com","port":8443,"verdict":"name-mismatch"}

                """#)
        #expect(verified().jsonLine.contains(#""name_count":2,"names":["a.example","b.example"],"not_after_s":1796"#))
        for address in listed {
            #expect(try JSONDecoder().decode(AddressReport.self, from: Data(address.jsonLine.utf8)) == address)
        }
    }

    @Test("the list has a line for each address, titles once, and counts them at the end")
    func list() {
        let row = listing(nil, [[listed[0]], [], [listed[1]]])
        #expect(
            row == """
                name                      address              verdict              age     handshake  next    \
                place and sources
                www.example.com           192.0.2.1:443        verified             3m12s   31 ms      1m      \
                quickest: verified, nearly as fast as the fastest  by alidns, b
                www.example.com           [2001:db8::66]:8443  name-mismatch        5s      4 ms       -       \
                quarantined: another address is not mismatched  no source
                ; 2 addresses

                """)
        #expect(listing(nil, []) == "; 0 addresses\n")
    }

    @Test("of one name the list says more, and nothing known of it is a refusal")
    func oneName() {
        let text = listing("www.example.com", [listed])
        #expect(
            text.contains("\n  certificate a.example, b.example, by CN=Good CA,O=Good, until 2026-12-01, sha256 ab"))
        #expect(text.hasSuffix("\n  421 Misdirected\\u{1B}[2J Request\n"))
        #expect(listing("x.example", [[]]) == "error: no verdict for x.example\n")
        #expect(listing("x.example", [], asJSON: true) == "{\"error\":\"no verdict for x.example\"}\n")
    }

    @Test("as JSON the list is one document however many pieces it came in")
    func listAsJSON() throws {
        struct Listing: Decodable {
            let verdicts: [AddressReport]
        }
        for pieces in [[], [listed], [[listed[0]], [], [listed[1]]]] {
            let text = listing(nil, pieces, asJSON: true)
            #expect(text.count { $0 == "\n" } == 1 && text.hasSuffix("\n"))
            #expect(try JSONDecoder().decode(Listing.self, from: Data(text.utf8)).verdicts == pieces.flatMap { $0 })
        }
    }

    @Test("a certificate with many names shows the first three and counts them")
    func manyNames() {
        let names = (0..<100).map { "\($0).example" }
        let report = CertificateReport(fingerprint: "f", issuer: "CN=I", names: names, notBefore: 0, notAfter: 0)
        #expect(report.text == "0.example, 1.example, 2.example (100 names), by CN=I, until 1970-01-01, sha256 f")
        #expect(report.names.count == CertificateReport.maxNames && report.nameCount == 100)
        let none = CertificateReport(fingerprint: "f", issuer: "CN=I", names: [], notBefore: 0, notAfter: 0)
        #expect(none.text.hasPrefix("without names, by CN=I"))
    }

    @Test(
        "days are told as people write them, at every end of a year and of what four digits can tell",
        arguments: [
            (0, "1970-01-01"), (-1, "1969-12-31"), (951_782_399, "2000-02-28"), (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"), (1_709_164_800, "2024-02-29"), (1_798_761_599, "2026-12-31"),
            (4_107_542_400, "2100-03-01"), (4_107_542_399, "2100-02-28"), (-62_167_219_200, "0000-01-01"),
            (253_402_300_799, "9999-12-31"), (.max, "9999-12-31"), (.min, "0000-01-01"),
        ] as [(Int64, String)])
    func days(_ seconds: Int64, _ text: String) {
        #expect(LineFormat.day(secondsSince1970: seconds) == text)
    }
}

@Suite("Outcomes of reports")
struct ReportOutcomeTests {
    private func outcome(_ agrees: Bool?, isHandedOut: Bool, _ found: [AddressReport]) -> ReportOutcome {
        ReportOutcome(
            name: "a.example", address: "192.0.2.1", found: found, agrees: agrees, isHandedOut: isHandedOut,
            reason: "no better address is known")
    }

    private func found(_ verdict: String, port: Int = 443) -> AddressReport {
        var found = AddressReport(name: "a.example", address: "192.0.2.1", port: port)
        found.set(verdict: verdict, detail: "")
        return found
    }

    @Test("an outcome says what the probe thinks, what it found, and what becomes of the address")
    func text() {
        let refused = found("refused")
        #expect(
            outcome(true, isHandedOut: false, [refused]).text
                == "probe agrees: refused; 192.0.2.1 was removed from answers\n")
        #expect(
            outcome(true, isHandedOut: true, [refused]).text
                == "probe agrees: refused; 192.0.2.1 stays in answers (no better address is known)\n")
        #expect(
            outcome(false, isHandedOut: true, [refused, found("verified", port: 8443)]).text
                == "probe disagrees: port 443 refused, port 8443 verified; 192.0.2.1 stays in answers\n")
        #expect(
            outcome(nil, isHandedOut: false, [found("time-doubtful")]).text
                == "probe is inconclusive: time-doubtful; 192.0.2.1 is not in answers (no better address is known)\n")
        #expect(
            outcome(true, isHandedOut: false, [refused]).jsonLine == #"""
                {"address":"192.0.2.1","agrees":true,"found":[{"address":"192.0.2.1","name":"a.example","port":443,\#
                "verdict":"refused"}],"handed_out":false,"name":"a.example","reason":"no better address is known"}

                """#)
    }
}

@Suite("Names of an address")
struct WhoisTests {
    private func entry(_ name: String, _ type: String = "A", age: Int? = 18) -> WhoisEntry {
        WhoisEntry(name: name, type: type, state: "fresh", provenance: "provider", ageSeconds: age)
    }

    private func listing(_ pieces: [[WhoisEntry]], asJSON: Bool = false) -> String {
        var listing = Listing(of: .v4(0xC000_0201), wantsJSON: asJSON)
        return pieces.map { listing.page(of: $0) }.joined() + listing.end()
    }

    @Test("each name is told once, and the end counts them")
    func once() {
        #expect(
            listing([[entry("a.example")], [entry("a.example"), entry("b.example", age: nil)]]) == """
                a.example A fresh provider 18s
                b.example A fresh provider -
                ; 2 names

                """)
        #expect(
            listing([[entry("a.example"), entry("a.example")]], asJSON: true) == #"""
                {"names":[{"age_s":18,"name":"a.example","provenance":"provider","state":"fresh","type":"A"}]}

                """#)
    }

    @Test("an address to which nothing led is a refusal")
    func none() {
        #expect(listing([]) == "error: no known name resolved to 192.0.2.1\n")
        #expect(listing([[]], asJSON: true) == "{\"error\":\"no known name resolved to 192.0.2.1\"}\n")
    }

    @Test("more names than are remembered are not told, and the end says so")
    func full() {
        let names = (0..<(WhoisEntry.maxCount + 5)).map { entry("n\($0)") }
        #expect(listing([names]).hasSuffix("n4095 A fresh provider 18s\n; 4096 names; there may be more\n"))
    }
}
