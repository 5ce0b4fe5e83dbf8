// The cases in which two names of a parent show the silence of a provider.

import DNSWire
import PublicSuffix
import TestSupport
import Testing

@testable import Resolver

@Suite("Silent parents")
struct SilentParentsTests {
    private var parents = SilentParents()

    private func at(_ milliseconds: Int) -> Instant { .testStart + .milliseconds(milliseconds) }

    private mutating func waited(
        _ name: String, startedAt milliseconds: Int, sharedWithin: Duration? = nil
    ) throws -> Bool {
        let name = try #require(Name(name))
        return parents.waitedInVain(
            name, parent: ShareHolder.parent(of: name, in: name.registrableDomain), startedAt: at(milliseconds),
            sharedWithin: sharedWithin, now: at(milliseconds + 1800))
    }

    private func contains(_ parent: String, _ milliseconds: Int) throws -> Bool {
        let parent = try #require(Name(parent))
        return parents.contains(parent, at(milliseconds))
    }

    @Test("the second name shows it, for its parent alone, until 30 s have passed")
    mutating func secondName() throws {
        #expect(try !waited("a.shop.example", startedAt: 0))
        #expect(try !waited("a.shop.example", startedAt: 100))
        #expect(try !waited("a.other.example", startedAt: 100))
        #expect(try !contains("shop.example", 1900) && !parents.isAnyKnown)
        #expect(try waited("b.shop.example", startedAt: 200))
        #expect(try !waited("c.shop.example", startedAt: 300))
        #expect(try contains("shop.example", 32_000) && !contains("other.example", 2000))
        #expect(try !contains("shop.example", 33_000))
        parents.removeAll()
        #expect(try !contains("shop.example", 2000) && !parents.isAnyKnown)
    }

    @Test("names that may have shared a request count once, also if one of them was asked again")
    mutating func shared() throws {
        for (name, start) in [
            ("a.shop.example", 0), ("b.shop.example", 0), ("a.shop.example", 5), ("b.shop.example", 0),
        ] {
            #expect(try !waited(name, startedAt: start, sharedWithin: .milliseconds(1)))
        }
        #expect(try waited("b.shop.example", startedAt: 9, sharedWithin: .milliseconds(1)))
    }

    @Test("what is remembered is bounded, and forgets parents that are no longer silent")
    mutating func bound() throws {
        for number in 0...Bounds.maxSilentParents { #expect(try !waited("a.p\(number).example", startedAt: 0)) }
        #expect(try !waited("b.p\(Bounds.maxSilentParents).example", startedAt: 0))
        #expect(try waited("b.p0.example", startedAt: 0))
        #expect(try !waited("a.late.example", startedAt: 40_000))
        #expect(try waited("b.late.example", startedAt: 40_000))
    }
}
