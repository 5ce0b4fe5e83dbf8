// Questions that the system resolver answered in place of providers: each once, within bounds, and no longer than the
// cache holds the answer.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Substitutes")
struct SubstitutesTests {
    private let start = Instant.testStart

    private func question(_ number: Int) throws -> Question {
        Question(try #require(Name("n\(number).example")), .a)
    }

    @Test("each is taken once, unless it has ended or a provider has answered")
    func taken() throws {
        var substitutes = Substitutes()
        for _ in 1...2 { substitutes.given(try question(1), until: start + .seconds(30), now: start) }
        substitutes.given(try question(2), until: start + .seconds(5), now: start)
        substitutes.given(try question(3), until: start + .seconds(30), now: start)
        substitutes.answered(try question(3))
        #expect(substitutes.takeAll(now: start + .seconds(5)) == [try question(1)])
        #expect(substitutes.takeAll(now: start + .seconds(5)).isEmpty)
    }

    @Test("a full table drops those that have ended first; what has no room then is counted")
    func bound() throws {
        var substitutes = Substitutes()
        for number in 1...Bounds.maxSubstitutes {
            let lifetime = number == 1 ? 1 : 30
            substitutes.given(try question(number), until: start + .seconds(lifetime), now: start)
        }
        substitutes.given(try question(0), until: start + .seconds(30), now: start)
        #expect(substitutes.overflows == 1)
        substitutes.given(try question(0), until: start + .seconds(31), now: start + .seconds(1))
        #expect(substitutes.overflows == 1)
        #expect(substitutes.takeAll(now: start + .seconds(1)).count == Bounds.maxSubstitutes)
    }
}
