// Names that providers do not serve: pauses that double, and a bounded table.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Unserved names")
struct UnservedNamesTests {
    private let start = Instant.testStart
    private let provider = RankedID(0)

    private func name(_ text: String) throws -> Name { try #require(Name(text)) }

    @Test("the pause doubles from a minute to a day with each refusal after its end, not with those before")
    func doubling() throws {
        var names = UnservedNames()
        let name = try name("www.example")
        var now = start
        var pauses: [Int] = []
        for _ in 0..<14 {
            names.refused(name, by: provider, now: now)
            names.refused(name, by: provider, now: now + .seconds(1))
            let end = try #require(names.pauseEnd(of: name, at: provider, now))
            pauses.append(Int(now.duration(to: end).wholeSeconds))
            #expect(names.pauseEnd(of: name, at: provider, end) == nil)
            #expect(names.pauseEnd(of: name, at: RankedID(1), now) == nil)
            now = end
        }
        #expect(pauses == [60, 120, 240, 480, 960, 1920, 3840, 7680, 15_360, 30_720, 61_440, 86_400, 86_400, 86_400])
        names.answered(name, by: provider)
        names.refused(name, by: provider, now: now)
        #expect(names.pauseEnd(of: name, at: provider, now) == now + .seconds(60))
    }

    @Test("a flush forgets the name, or the names below it; a reset forgets a provider's")
    func forgetting() throws {
        var names = UnservedNames()
        let (upper, lower) = (try name("example"), try name("www.example"))
        for name in [upper, lower] { names.refused(name, by: provider, now: start) }
        names.forget(QuestionScope(upper, type: .aaaa))
        #expect(names.pauseEnd(of: upper, at: provider, start) == nil)
        #expect(names.pauseEnd(of: lower, at: provider, start) != nil)
        names.forget(QuestionScope(upper, includesDescendants: true))
        #expect(names.isEmpty)
        names.refused(upper, by: provider, now: start)
        names.forget(RankedID(1))
        #expect(!names.isEmpty)
        names.forget(provider)
        #expect(names.isEmpty)
    }

    @Test("a flood of domains evicts the oldest, and the table stays bounded")
    func flood() throws {
        var names = UnservedNames()
        for number in 0..<6000 { names.refused(try name("n\(number).example"), by: provider, now: start) }
        #expect(names.count == Bounds.maxUnservedNames)
        #expect(names.evictions == UInt64(6000 - Bounds.maxUnservedNames))
        #expect(!names.isPaused(try name("n0.example"), at: provider, start))
        #expect(names.isPaused(try name("n5999.example"), at: provider, start))
    }

    @Test("a flood of names of one domain evicts only this domain's")
    func floodOfOneDomain() throws {
        var names = UnservedNames()
        let other = try name("www.other.example")
        names.refused(other, by: provider, now: start)
        for number in 0..<6000 { names.refused(try name("n\(number).flood.example"), by: provider, now: start) }
        #expect(names.isPaused(other, at: provider, start))
        #expect(names.count == Bounds.maxUnservedNames)
        #expect(!names.isPaused(try name("n0.flood.example"), at: provider, start))
        #expect(names.isPaused(try name("n5999.flood.example"), at: provider, start))
    }

    @Test("a name that is refused and answered in turn leaves nothing behind that could evict it")
    func alternating() throws {
        var names = UnservedNames()
        let name = try name("www.example")
        for _ in 0..<2 * Bounds.maxUnservedNames {
            names.refused(name, by: provider, now: start)
            names.answered(name, by: provider)
            #expect(names.isEmpty)
        }
        names.refused(name, by: provider, now: start)
        #expect(names.isPaused(name, at: provider, start) && names.evictions == 0)
    }

    @Test("that no provider serves the name stays the reason while the failure is remembered")
    func remembered() {
        #expect(LookupFailure(.notServed).remembered == LookupFailure(.notServed))
        #expect(LookupFailure(.networkError).remembered == LookupFailure(.rememberedFailure))
    }
}
