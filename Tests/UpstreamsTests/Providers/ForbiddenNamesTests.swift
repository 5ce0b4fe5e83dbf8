// The subject of a 403, inferred from the account's earlier answers.

import DNSWire
import Testing

@testable import Upstreams

@Suite("Forbidden names")
struct ForbiddenNamesTests {
    private let now = Instant(nanoseconds: 1)

    private func name(_ text: String) throws -> Name { try #require(Name(text)) }

    @Test("one name that is answered often displaces no other: a 403 for three served names concerns the account")
    func hotName() throws {
        var forbidden = ForbiddenNames()
        let served = try (0..<3).map { try name("www\($0).example") }
        for name in served { forbidden.answered(name, now: now) }
        for _ in 0..<1000 { forbidden.answered(try name("hot.example"), now: now) }
        let subjects = served.map { forbidden.subject(of: $0, hasList: true, isClockRight: true, now: now) }
        #expect(subjects == [.name, .name, .account])
    }

    @Test("of many names, the first of the latest 64 is forgotten first")
    func bound() throws {
        var forbidden = ForbiddenNames()
        for number in 0..<70 { forbidden.answered(try name("www\(number).example"), now: now) }
        for number in 0..<6 {
            let subject = forbidden.subject(
                of: try name("www\(number).example"), hasList: true, isClockRight: true, now: now)
            #expect(subject == .name)
        }
        let subjects = try (6..<9).map {
            forbidden.subject(of: try name("www\($0).example"), hasList: true, isClockRight: true, now: now)
        }
        #expect(subjects == [.name, .name, .account])
    }

    @Test("without a list of names, a 403 for three names in a row concerns all names")
    func withoutList() throws {
        var forbidden = ForbiddenNames()
        forbidden.answered(try name("served.example"), now: now)
        let names = try (0..<3).map { try name("new\($0).example") }
        let subjects = names.map { forbidden.subject(of: $0, hasList: false, isClockRight: true, now: now) }
        #expect(subjects == [.name, .name, .account])
        forbidden.answered(try name("served.example"), now: now)
        #expect(forbidden.subject(of: names[0], hasList: false, isClockRight: true, now: now) == .name)
    }
}
