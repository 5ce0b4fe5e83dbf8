// The report of the provider audit: its words, its table, and its JSON.

import Testing

@testable import Control

@Suite("Audit report")
struct AuditReportTests {
    private static func share(_ count: Int, of all: Int) -> AuditReport.Share {
        AuditReport.Share(count, of: all, 0.0274...0.0896)
    }

    private static func window(_ findings: [AuditReport.Finding] = []) -> AuditReport.Window {
        var window = AuditReport.Window(
            forged: share(10, of: 200), denied: share(0, of: 40), expired: share(0, of: 0), late: share(5, of: 1000),
            failed: share(0, of: 1000))
        (window.requests, window.findings) = (1234, findings)
        (window.replyMilliseconds, window.connectMilliseconds) = (21.04, 12)
        return window
    }

    private static func provider(
        _ findings: [AuditReport.Finding] = [], price: Double? = nil, isConclusive: Bool = true, isOpen: Bool = false
    ) -> AuditedProvider {
        AuditedProvider(
            "a", rank: 1, price: price, isCompared: true, comparisons: 7, isConclusive: isConclusive, isOpen: isOpen,
            day: window(), week: window(findings))
    }

    @Test("each finding has words and settings to change")
    func words() {
        let forged = AuditReport.Finding(.forges, Self.share(10, of: 200))
        #expect(Self.provider().verdict == "honest" && Self.provider().advice.isEmpty)
        #expect(Self.provider(isConclusive: false).verdict == "nothing found yet, 200 names judged")
        #expect(
            Self.provider([forged]).verdict
                == "forges 5.0 % of the names compared (10 of 200; 2.7 % to 8.9 % with 95 % confidence)")
        #expect(Self.provider([forged], isOpen: true).verdict.hasPrefix("it or its path forges 5.0 %"))
        #expect(Self.provider([forged], isOpen: true).advice[0].contains("https"))
        #expect(Self.provider([.init(.slower, amount: 0.3)]).verdict == "slower than the others by 30 %")
        let dear = Self.provider([.init(.farther, amount: 35), .init(.dear, amount: 0)], price: 0.5)
        #expect(
            dear.verdict
                == "gives farther addresses: 35.0 ms more to connect; dear: 0.5 per 1,000 questions, another costs 0.0")
        #expect(dear.advice.count == 2)
        for kind in AuditReport.Finding.Kind.allCases {
            #expect(!Self.provider([.init(kind, Self.share(1, of: 2), amount: 1)]).advice[0].isEmpty)
        }
    }

    @Test("the text has a table for each window, and the verdicts")
    func text() {
        let text = AuditReport([Self.provider([.init(.dear, amount: 0)], price: 0.5)]).text
        let row = text.split(separator: "\n").dropFirst(2).first ?? ""
        #expect(text.hasPrefix("last 24 hours\n  name  requests  forged "))
        #expect(
            row.split(separator: "  ").map { $0.filter { $0 != " " } } == [
                "a", "1,234", "10of200,5.0%", "0of40,0.0%", "-", "5of1,000,0.5%", "0of1,000,0.0%", "21.0ms", "12.0ms",
                "-", "0.5",
            ])
        #expect(text.contains("\nlast 7 days\n") && text.contains("\nverdicts\n  a: dear: 0.5 per 1,000 questions"))
        #expect(text.contains("\n    settings: give it names of its own"))
        #expect(AuditReport([]).text == "no providers\n")
    }

    @Test("JSON is read back")
    func json() throws {
        let report = AuditReport([Self.provider([.init(.forges, Self.share(10, of: 200))])])
        let read = try #require(AuditReport(answer: Array(report.jsonLine.utf8)))
        #expect(read == report)
        #expect(report.jsonLine.contains("\"forged\":{\"count\":10,\"high\":0.0896,\"low\":0.0274,\"of\":200}"))
    }
}
