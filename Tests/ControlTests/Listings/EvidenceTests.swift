// Evidence of forgery: its exact text for people, and its note for the store, which fits its bound and is read back
// strictly.

import Control
import FoundationEssentials
import Testing

@Suite("Evidence")
struct EvidenceTests {
    private func claim(
        _ source: String, _ address: String, _ verdict: String, names: [String], detail: String = "",
        addresses: [String]? = nil
    ) -> EvidenceReport.Claim {
        EvidenceReport.Claim(
            source: source, addresses: addresses ?? [address], address: address, port: 443, verdict: verdict,
            detail: detail,
            certificate: CertificateReport(
                fingerprint: "ab12", issuer: "CN=Good CA", names: names, notBefore: 0, notAfter: 1_796_083_200))
    }

    private var evidence: EvidenceReport {
        EvidenceReport(
            number: 7, seconds: 1_795_264_496, name: "www.example.com", type: "A", network: 1,
            mismatched: claim(
                "alidns", "192.0.2.66", "name-mismatch", names: ["evil.example"], detail: "of evil\u{1B}[2J.example",
                addresses: ["192.0.2.66", "192.0.2.67"]),
            verified: claim("dnspod", "192.0.2.1", "verified", names: ["www.example.com"]))
    }

    private func listing(_ pieces: [[EvidenceReport]], asJSON: Bool = false) -> String {
        var listing = Listing<EvidenceReport>(wantsJSON: asJSON)
        return pieces.map { listing.page(of: $0) }.joined() + listing.end()
    }

    @Test("the list has time, name, network, source and address, and counts at the end")
    func text() {
        #expect(
            listing([[evidence], []]) == """
                2026-11-21 12:34:56Z www.example.com A, network 00000001
                  alidns returned 192.0.2.66 (name-mismatch: of evil\\u{1B}[2J.example; certificate evil.example, \
                by CN=Good CA, until 2026-12-01, sha256 ab12), one of 192.0.2.66 192.0.2.67
                  dnspod returned 192.0.2.1 (verified; certificate www.example.com, by CN=Good CA, until 2026-12-01, \
                sha256 ab12), one of 192.0.2.1
                ; 1 divergence

                """)
        #expect(listing([]) == "; 0 divergences\n")
    }

    @Test("an answer that contradicts a rule has no counterpart, in text, JSON and note")
    func contradiction() {
        let claim = EvidenceReport.Claim(
            source: "system", addresses: ["203.0.113.66"], address: "203.0.113.66", port: 0,
            verdict: EvidenceReport.contradiction, detail: "no CNAME against expect of the rule for example.com",
            certificate: nil)
        let report = EvidenceReport(
            number: 8, seconds: 1_795_264_496, name: "mqtt.example.com", type: "A", network: 1, mismatched: claim,
            verified: nil)
        #expect(
            listing([[report]]) == """
                2026-11-21 12:34:56Z mqtt.example.com A, network 00000001
                  system returned 203.0.113.66 (contradicts-expect: no CNAME against expect of the rule for \
                example.com), one of 203.0.113.66
                ; 1 divergence

                """)
        #expect(!listing([[report]], asJSON: true).contains("verified"))
        #expect(EvidenceReport(note: report.note) == report)
    }

    @Test("as JSON the list is one document")
    func asJSON() throws {
        struct Listing: Decodable {
            let evidence: [EvidenceReport]
        }
        let text = listing([[evidence], [evidence]], asJSON: true)
        #expect(try JSONDecoder().decode(Listing.self, from: Data(text.utf8)).evidence == [evidence, evidence])
        #expect(listing([], asJSON: true) == "{\"evidence\":[]}\n")
        #expect(text.hasPrefix(#"{"evidence":[{"mismatched":{"address":"192.0.2.66","addresses":["192.0.2.66","#))
    }

    @Test("a note comes back as it was, and what no note says is none")
    func notes() {
        let note = evidence.note
        #expect(EvidenceReport(note: note) == evidence)
        for (find, replacement) in [
            ("\"number\":7", "\"number\":-7"), ("\"number\":7", "\"number\":\(Int.max)"), ("\"number\":7,", ""),
            ("\"seconds\":1", "\"seconds\":-1"),
            ("\"port\":443", "\"port\":65536"), ("www.example.com", "www\\u001b[2J"),
            ("alidns", String(repeating: "a", count: 65)), ("{", "["),
            ("\"192.0.2.67\"", Array(repeating: "\"192.0.2.67\"", count: 16).joined(separator: ",")),
            ("[\"evil.example\"]", "[\"a\",\"b\",\"c\",\"d\"]"),
        ] {
            let changed = note.replacing(find, with: replacement)
            #expect(changed != note && EvidenceReport(note: changed) == nil, "\(find)")
        }
        #expect(EvidenceReport(note: "") == nil && EvidenceReport(note: "off 17") == nil)
    }

    @Test(
        "the longest that there can be fits into a note, and comes back as it was cut",
        arguments: ["x", "\"", "\\", "\u{1B}", "京", "\u{10FFFF}", "\u{1F600}"])
    func worstCase(letter: String) {
        let long = String(repeating: letter, count: 5_000)
        let certificate = CertificateReport(
            fingerprint: long, issuer: long, names: Array(repeating: long, count: 100), notBefore: .min, notAfter: .min)
        let claim = EvidenceReport.Claim(
            source: long, addresses: Array(repeating: "fe80:1111:2222:3333:4444:5555:6666:7777", count: 500),
            address: long, port: .max, verdict: long, detail: long, certificate: certificate)
        let report = EvidenceReport(
            number: 1 << 52, seconds: .max, name: long, type: long, network: .max, mismatched: claim, verified: claim)
        #expect(report.note.utf8.count <= 4_096, "\(report.note.utf8.count) bytes")
        #expect(EvidenceReport(note: report.note) == report)
    }
}
