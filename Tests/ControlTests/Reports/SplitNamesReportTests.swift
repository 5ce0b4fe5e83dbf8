// The command `network names`: its exact text and JSON.

import Testing

@testable import Control

@Suite("Names of the network")
struct SplitNamesReportTests {
    private func statement(_ source: String, _ addresses: [(String, String)], _ age: Int) -> SplitNamesReport.Statement
    {
        .init(
            source: source, type: "A", answer: addresses.isEmpty ? "no such name" : "addresses",
            addresses: addresses.map { .init(address: $0.0, verdict: $0.1) }, ageSeconds: age)
    }

    private var report: SplitNamesReport {
        SplitNamesReport(
            network: "6f2c1a09",
            names: [
                .init(
                    name: "git.corp.example", kind: "only-here", suffix: "corp.example", isRouted: false,
                    here: [statement("system", [("10.1.2.3", "unprobed")], 130)],
                    elsewhere: [statement("alidns", [], 5)]),
                .init(
                    name: "www.shop.example", kind: "verified-here", suffix: nil, isRouted: true,
                    here: [statement("system", [("192.0.2.7", "verified")], 60)],
                    elsewhere: [statement("alidns", [("192.0.2.9", "timeout")], 60)]),
            ],
            suffixes: [.init(name: "corp.example", count: 1, isAnnounced: true, isRouted: false)], invented: [])
    }

    @Test("the text has the evidence for each name, and the command that adds the rule")
    func text() {
        #expect(
            report.text == """
                corp.example: suffix of 1 name, a search domain of the network; httpdnsctl rule add corp.example \
                resolver=system
                git.corp.example: only-here; in corp.example
                  system A 10.1.2.3, 2m10s ago
                  alidns A no such name, 5s ago
                www.shop.example: verified-here; a rule has it
                  system A 192.0.2.7 (verified), 1m ago
                  alidns A 192.0.2.9 (timeout), 1m ago
                ; 2 names and 1 suffix on network 6f2c1a09

                """)
        #expect(
            SplitNamesReport(network: "", names: [], suffixes: [], invented: ["192.0.2.1"]).text == """
                The system resolver answers for names that do not exist, with 192.0.2.1. Names with public addresses \
                are listed only if these are verified.
                ; 0 names and 0 suffixes

                """)
    }

    @Test("JSON has the same, and the rules that were added")
    func json() {
        var report = report
        report.written = [AddedRuleReport(name: "corp.example", settings: SplitNamesReport.ruleWords)]
        let line = report.rendered(asJSON: true)
        #expect(SplitNamesReport(answer: Array(line.utf8)) == report)
        #expect(
            line.hasPrefix(
                #"{"invented":[],"names":[{"here":[{"addresses":[{"address":"10.1.2.3","verdict":"unprobed"}],"#
                    + #""age_s":130,"answer":"addresses","source":"system","type":"A"}],"kind":"only-here","#
                    + #""name":"git.corp.example","providers":["#))
        #expect(
            line.hasSuffix(
                #""suffixes":[{"count":1,"name":"corp.example","routed":false,"search_domain":true}],"#
                    + #""written":[{"name":"corp.example","settings":["resolver=system"]}]}"# + "\n"))
        #expect(report.text.hasPrefix("added corp.example: resolver=system\n"))
    }
}
