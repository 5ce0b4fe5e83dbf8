// The objections of the judge of substitutes, and the answers that it accepts.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Judge of substitutes")
struct SubstituteJudgeTests {
    private var judge = SubstituteJudge(providers: 1)
    private var last: UInt64 = 0

    private func at(_ milliseconds: Int) -> Instant { .testStart + .milliseconds(milliseconds) }

    private func question(_ name: String) throws -> Question { Question(try #require(Name(name)), .a) }

    @discardableResult
    private mutating func ask(_ name: String, at milliseconds: Int) throws -> FetchID {
        last += 1
        let id = FetchID(number: last)
        judge.asked(id, try question(name), 0, now: at(milliseconds))
        return id
    }

    private mutating func end(_ id: FetchID, _ result: FetchResult, at milliseconds: Int) {
        judge.finished(id, result, now: at(milliseconds))
    }

    private func complaint(_ name: String = "a.example", at milliseconds: Int) throws -> String? {
        judge.complaint(try question(name), askedAt: at(0), now: at(milliseconds))
    }

    private static let blocked = FetchResult.nameFailed(NameFailure(.refused, .blockedByRule))

    @Test("a reply about the name, a bound of the daemon, a provider that was not asked, and a wait for a place")
    mutating func objections() throws {
        #expect(try complaint(at: 10) == "provider 0 was not asked")
        for result in [SubstituteJudgeTests.blocked, .success(Answer(negative: .ambiguousEmpty)), .failure(.overload)] {
            end(try ask("a.example", at: 20), result, at: 30)
            #expect(try complaint(at: 40) == "provider 0 has replied about the name")
            judge = SubstituteJudge(providers: 1)
        }
        judge.waits(try ask("a.example", at: 50))
        #expect(try complaint(at: 4000) == "provider 0 has no place for the request yet")
    }

    @Test("one failure, and silence about this name alone")
    mutating func single() throws {
        end(try ask("a.example", at: 0), .failure(.status), at: 10)
        #expect(try complaint(at: 2500) == "provider 0 has failed for this name, and not for all")
        judge = SubstituteJudge(providers: 1)
        try ask("a.example", at: 0)
        #expect(try complaint(at: 400) == "provider 0 has been silent for a moment only")
        #expect(try complaint(at: 500) == nil)
        end(try ask("b.example", at: 10), SubstituteJudgeTests.blocked, at: 600)
        #expect(try complaint(at: 1900) == "provider 0 has replied to others since it was asked")
    }

    @Test("a request that a network change ends is not lost, and the one on the new network is judged alone")
    mutating func networkChange() throws {
        let first = try ask("a.example", at: 0)
        end(try ask("b.example", at: 10), SubstituteJudgeTests.blocked, at: 100)
        judge.networkChanges()
        judge.abandoned(first, now: at(200))
        let second = try ask("a.example", at: 200)
        #expect(try complaint(at: 400) == "provider 0 has been silent for a moment only")
        judge.abandoned(second, now: at(1900))
        #expect(try complaint(at: 1900) == nil)
    }

    @Test("a short wait that was abandoned shows no silence")
    mutating func abandoned() throws {
        for name in ["b.example", "c.other"] {
            judge.abandoned(try ask(name, at: 0), now: at(20))
        }
        let name = try #require(Name("a.third"))
        #expect(!judge.isSilent(0, for: name, now: at(3000)))
        for name in ["b.example", "c.other"] {
            judge.abandoned(try ask(name, at: 3000), now: at(3600))
        }
        #expect(judge.isSilent(0, for: name, now: at(3700)))
    }

    @Test("two names of one domain that wait in vain show silence for names of that domain alone")
    mutating func oneDomain() throws {
        let (same, other) = (try #require(Name("a.one.example")), try #require(Name("a.other.example")))
        judge.abandoned(try ask("b.one.example", at: 0), now: at(600))
        #expect(!judge.isSilent(0, for: same, now: at(700)))
        judge.abandoned(try ask("c.one.example", at: 100), now: at(700))
        #expect(judge.isSilent(0, for: same, now: at(800)))
        #expect(!judge.isSilent(0, for: other, now: at(800)))
    }

    @Test("a lost connection, and failures of every name")
    mutating func reasons() throws {
        end(try ask("b.example", at: 0), .failure(.refused), at: 10)
        #expect(try complaint(at: 20) == nil)
        for number in 0..<8 {
            end(try ask("n.d\(number).test", at: 100 * number), .failure(.status), at: 100 * number + 20)
        }
        end(try ask("a.example", at: 2300), .failure(.throttled), at: 2310)
        #expect(try complaint(at: 2320) == nil)
    }
}
