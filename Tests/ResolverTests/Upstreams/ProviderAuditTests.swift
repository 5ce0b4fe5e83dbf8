// What the audit counts, what it concludes, and what it keeps over restarts.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Provider audit")
struct ProviderAuditTests {
    private let start = Instant.testStart
    private static let providers = (0..<3).map { ProviderTraits(id: RankedID($0), types: .any) }

    private func audit() -> ProviderAudit {
        var audit = ProviderAudit()
        audit.keep(Self.providers)
        return audit
    }

    private func name(_ number: Int) throws -> Name { try #require(Name("www.n\(number).example")) }

    private func findings(_ audit: ProviderAudit, _ number: Int = 0, now: Instant? = nil) -> [AuditFinding] {
        audit.report(on: Self.providers, now: now ?? start).first { $0.id == ProviderID(number) }?.week.findings ?? []
    }

    @Test("a share is blamed only if its whole interval is bad, and several domains are concerned")
    func unlucky() throws {
        var audit = audit()
        for number in 0..<100 { audit.found([.judged, .aged], RankedID(0), about: try name(number), now: start) }
        for number in 0..<2 { audit.found([.judged, .forged], RankedID(0), about: try name(number), now: start) }
        #expect(findings(audit).isEmpty, "two sites may be broken")
        for host in 0..<9 {
            let sibling = try #require(Name("h\(host).n0.example"))
            audit.found([.judged, .forged], RankedID(0), about: sibling, now: start)
        }
        #expect(findings(audit).isEmpty, "they are of one domain")
        audit.found([.judged, .forged], RankedID(0), about: try name(2), now: start)
        guard case .forges(let share) = findings(audit).first else {
            Issue.record("\(findings(audit))")
            return
        }
        #expect(share.count == 12 && share.all == 109)
        for number in 100..<1020 { audit.found(.judged, RankedID(1), about: try name(number), now: start) }
        for number in 0..<3 { audit.found([.judged, .forged], RankedID(1), about: try name(number), now: start) }
        #expect(findings(audit, 1).isEmpty, "three of a thousand may be broken")
    }

    @Test("a name counts at most twice a day, also after its first answer was true")
    func names() throws {
        var audit = audit()
        for hour in 0..<48 {
            let now = start + .seconds(hour * 3600)
            audit.found([.judged, .aged], RankedID(0), about: try name(0), now: now)
        }
        let end = start + .seconds(47 * 3600)
        let counts = try #require(audit.history(of: ProviderID(0))).sum(ofHours: 168, now: end)
        #expect(2...4 ~= counts[.judged])
        audit.found([.judged, .forged], RankedID(0), about: try name(0), now: end)
        let after = try #require(audit.history(of: ProviderID(0))).sum(ofHours: 168, now: end)
        #expect(after[.forged] == 1 && after[.judged] == counts[.judged])
    }

    @Test("the tables of names are bounded")
    func bound() throws {
        var names = AuditedNames()
        for number in 0..<5000 { #expect(!names.insert(.judged, try name(number), now: start).isEmpty) }
        #expect(names.insert(.judged, try name(4999), now: start).isEmpty)
        #expect(!names.insert(.judged, try name(1), now: start).isEmpty, "forgotten")
    }

    @Test("Wilson's interval")
    func interval() {
        let share = AuditShare(10, of: 200)
        #expect(abs(share.limits.lowerBound - 0.0274) < 0.0001 && abs(share.limits.upperBound - 0.0896) < 0.0001)
        #expect(AuditShare(0, of: 0).limits == 0...1)
        #expect(AuditShare(0, of: 50).limits.lowerBound == 0)
    }

    @Test("failures and slow replies count only beside those of other providers")
    func path() {
        var audit = audit()
        for number in 0..<3 {
            for _ in 0..<100 {
                audit.failed(RankedID(number), now: start)
                audit.replied(RankedID(number), after: .milliseconds(300), usual: .milliseconds(30), now: start)
            }
        }
        #expect((0..<3).allSatisfy { findings(audit, $0).isEmpty })
        for _ in 0..<200 { audit.failed(RankedID(1), now: start) }
        for _ in 0..<200 {
            audit.replied(RankedID(2), after: .milliseconds(700), usual: .milliseconds(300), now: start)
        }
        if case .fails = findings(audit, 1).first {} else { Issue.record("\(findings(audit, 1))") }
        if case .slower = findings(audit, 2).first {} else { Issue.record("\(findings(audit, 2))") }
        #expect(audit.report(on: Self.providers, now: start).compactMap { $0.id?.number } == [0, 2, 1])
    }

    @Test("one slow connection makes no provider's addresses farther")
    func slowConnection() throws {
        var audit = audit()
        for number in 0..<30 {
            let own: Duration = number == 7 ? .milliseconds(3000) : .milliseconds(20)
            let distance = AddressDistance(own: own, others: .milliseconds(20))
            audit.measured(RankedID(0), about: try name(number), distance, now: start)
        }
        #expect(findings(audit).isEmpty)
    }

    @Test("farther addresses and a price are said, and are no fault")
    func farther() throws {
        var audit = audit()
        for number in 0..<30 {
            let distance = AddressDistance(own: .milliseconds(80), others: .milliseconds(20))
            audit.measured(RankedID(0), about: try name(number), distance, now: start)
        }
        #expect(findings(audit) == [.farther(.milliseconds(60))])
        let priced = [0.5, nil, 0.3].enumerated().map { number, price in
            ProviderTraits(id: RankedID(number), types: .any, price: price)
        }
        let result = audit.report(on: priced, now: start)
        #expect(result.map { $0.id?.number } == [1, 2, 0])
        #expect(result[1].week.findings == [.dear(cheapest: 0)])
        #expect(result[2].week.findings.count == 2)
    }

    @Test("a day and a week are told apart, old hours are summed by day, and nothing is older than a week")
    func windows() {
        var history = AuditHistory()
        for hour in 0..<1000 { history.change(now: start + .seconds(hour * 3600)) { $0[.requests] += 1 } }
        let now = start + .seconds(999 * 3600)
        #expect(history.sum(ofHours: AuditHistory.hoursOfDay, now: now)[.requests] == 24)
        #expect(168..<192 ~= history.sum(ofHours: AuditHistory.hoursOfWeek, now: now)[.requests])
        let later = now + .seconds(200 * 3600)
        #expect(history.sum(ofHours: AuditHistory.hoursOfWeek, now: later)[.requests] == 0)
    }

    @Test("the text holds all, fits into a note, and is read back at another time since boot")
    func text() throws {
        var history = AuditHistory()
        for hour in 0..<300 {
            history.change(now: start + .seconds(hour * 3600)) { counts in
                for count in AuditCount.allCases { counts[count] += 9_000 }
            }
        }
        let now = start + .seconds(299 * 3600)
        for number in 0..<9 { history.witness(.forged, try name(number).registrable, now: now) }
        let text = history.text(now: now, wallHour: 500_000, maxBytes: 4096)
        #expect(text.utf8.count <= 4096)
        // After a boot two hours later.
        let boot = Instant.testStart
        let read = try #require(AuditHistory(text: text, now: boot, wallHour: 500_002))
        let (day, week) = (AuditHistory.hoursOfDay, AuditHistory.hoursOfWeek)
        #expect(read.sum(ofHours: week, now: boot)[.late] >= history.sum(ofHours: week - 24, now: now)[.late])
        #expect(read.sum(ofHours: day, now: boot)[.late] == 22 * 9_000)
        #expect(read.domains(.forged, ofHours: day, now: boot).count == Bounds.maxAuditWitnesses)
        var sum = AuditHistory()
        sum.change(now: boot) { $0[.late] += 1 }
        sum.add(read, now: boot)
        #expect(sum.sum(ofHours: day, now: boot)[.late] == 22 * 9_000 + 1)
        #expect(history.text(now: now, wallHour: 500_000, maxBytes: 300).utf8.count <= 300)
    }

    @Test(
        "other text is refused",
        arguments: ["x", "1:2", "1:,,,,,,,,,,,,,,x", "1:-1,,,,,,,,,,,,,,", "99:5:a.example", "1:5:a..b", "1:"])
    func refused(text: String) {
        #expect(AuditHistory(text: text, now: start, wallHour: 10) == nil)
    }

    @Test("a comparison question needs 120 requests, and no more than four wait")
    func budget() {
        var audit = audit()
        for _ in 0..<119 { audit.ended(RankedID(0), now: start) }
        #expect(!audit.mayCompare)
        for _ in 0..<2 { audit.ended(RankedID(0), now: start) }
        #expect(audit.mayCompare)
        for _ in 0..<10_000 { audit.ended(RankedID(0), now: start) }
        for _ in 0..<4 {
            #expect(audit.mayCompare)
            audit.comparing(RankedID(1))
        }
        #expect(!audit.mayCompare && audit.comparisons(RankedID(1)) == 4)
        for _ in 0..<10_000 { audit.ended(RankedID(0), now: start) }
        var searches = 0
        while audit.mayCompare {
            audit.postpone()
            searches += 1
        }
        #expect(searches > 50, "a question that suits no provider costs less than a comparison")
    }
}

extension Name {
    fileprivate var registrable: Name { parent ?? self }
}
