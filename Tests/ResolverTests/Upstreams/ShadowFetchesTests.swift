// Background fetches: their comparison, their counts, and their complete removal.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Shadow fetches")
struct ShadowFetchesTests {
    private let start = Instant.testStart
    private static let ghostID = ProviderID(7)
    private static let ghost = ProviderTraits(id: .provider(ghostID), types: .any, shadowShare: 0.5)
    private let holder = ShareHolder(.root, nil)

    private func question() throws -> Question { Question(try #require(Name("www.example")), .a) }

    private func answer(_ last: UInt32...) throws -> Answer {
        let name = try #require(Name("www.example"))
        guard !last.isEmpty else { return Answer(negative: .noData) }
        return Answer(
            records: last.map { ResourceRecord(owner: name, address: .v4(0xC000_0200 + $0), ttlSeconds: $0) })
    }

    private func counts(_ said: Answer, _ used: Answer, saidFirst: Bool) throws -> [UInt64] {
        var shadows = ShadowFetches()
        let id = FetchID(number: 1)
        shadows.begin(id, try question(), Self.ghostID, Self.ghost, of: holder, now: start)
        if !saidFirst { _ = shadows.used(try question(), used, from: .system) }
        _ = shadows.finished(id, .success(said))
        if saidFirst { _ = shadows.used(try question(), used, from: .system) }
        #expect(shadows.nextDeadline == nil, "compared and gone")
        let counts = shadows.counts(of: Self.ghostID)
        return [counts.asked, counts.same, counts.overlapping, counts.different, counts.failed]
    }

    @Test("both answers are compared as sets, whichever comes first", arguments: [true, false])
    func comparison(saidFirst: Bool) throws {
        #expect(try counts(try answer(1, 2), try answer(2, 1), saidFirst: saidFirst) == [1, 1, 0, 0, 0])
        #expect(try counts(try answer(1, 2), try answer(2, 3), saidFirst: saidFirst) == [1, 0, 1, 0, 0])
        #expect(try counts(try answer(1), try answer(2), saidFirst: saidFirst) == [1, 0, 0, 1, 0])
        #expect(try counts(try answer(), try answer(), saidFirst: saidFirst) == [1, 1, 0, 0, 0])
        #expect(try counts(try answer(), try answer(2), saidFirst: saidFirst) == [1, 0, 0, 1, 0])
        #expect(try counts(try answer(1), try answer(), saidFirst: saidFirst) == [1, 0, 0, 1, 0])
    }

    @Test("failures and time-outs are counted; an answer without its other half is forgotten after 5 s")
    func endings() throws {
        var shadows = ShadowFetches()
        for number in 0..<3 {
            shadows.begin(
                FetchID(number: UInt64(number)), try question(), Self.ghostID, Self.ghost, of: holder, now: start)
        }
        #expect(shadows.finished(FetchID(number: 0), .failure(.tls))?.fetch.provider == Self.ghostID)
        #expect(shadows.finished(FetchID(number: 1), .success(try answer(1))) != nil)
        #expect(shadows.finished(FetchID(number: 1), .success(try answer(1))) == nil, "only once")
        #expect(shadows.finished(FetchID(number: 9), .success(try answer(1))) == nil)
        #expect(shadows.nextDeadline == start + .seconds(3))
        #expect(shadows.popDue(start + .seconds(3)).map(\.id.number) == [2])
        #expect(shadows.nextDeadline == start + .seconds(5))
        #expect(shadows.popDue(start + .seconds(5)).isEmpty)
        #expect(shadows.nextDeadline == nil)
        let counts = shadows.counts(of: Self.ghostID)
        #expect(counts.asked == 3 && counts.failed == 2 && counts.same + counts.different + counts.overlapping == 0)
        shadows.keep([])
        #expect(shadows.counts(of: Self.ghostID) == ShadowCounts())
    }

    @Test("another question's answer is no other half, and an ordinary provider's answer is only measured")
    func unrelated() throws {
        var shadows = ShadowFetches()
        shadows.begin(FetchID(number: 1), try question(), Self.ghostID, Self.ghost, of: holder, now: start)
        shadows.begin(
            FetchID(number: 2), try question(), ProviderID(1), ProviderTraits(id: RankedID(1), types: .any), of: holder,
            now: start)
        _ = shadows.used(Question(try #require(Name("www.example")), .aaaa), try answer(1), from: .system)
        #expect(shadows.finished(FetchID(number: 2), .success(try answer(5))) != nil)
        #expect(shadows.finished(FetchID(number: 1), .success(try answer(1))) != nil)
        #expect(shadows.counts(of: Self.ghostID).same == 0 && shadows.counts(of: ProviderID(1)) == ShadowCounts())
        _ = shadows.used(try question(), try answer(1), from: .system)
        #expect(shadows.counts(of: Self.ghostID).same == 1)
    }

    @Test("there is room for so many, and no more")
    func room() throws {
        var shadows = ShadowFetches()
        for number in 0..<Bounds.maxShadowFetches {
            #expect(shadows.hasRoom)
            shadows.begin(
                FetchID(number: UInt64(number)), try question(), Self.ghostID, Self.ghost, of: holder, now: start)
        }
        #expect(!shadows.hasRoom)
    }

    @Test("a shadow is asked for its share of the lookups")
    func share() throws {
        let ranking = UpstreamRanking(seed: 1)
        ranking.setProviders([ProviderTraits(id: RankedID(0), types: .any), Self.ghost])
        var asked = 0
        for _ in 0..<1000 {
            asked +=
                ranking.begunLookup(with: RankedID(0), for: Question(.root, .a), among: .providers, now: start).count
        }
        #expect(asked > 450 && asked < 550)
        #expect(ranking.order(for: .a, among: .providers, now: start) == [RankedID(0)])
        ranking.setProviders([Self.ghost])
        #expect(!ranking.serves(.a, among: .providers))
    }
}
