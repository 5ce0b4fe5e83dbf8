// What a 403 concerns, by what the account has answered.

import DNSWire
import Testing

@testable import Daemon

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
        let subjects = served.map { forbidden.subject(of: $0, isClockRight: true, now: now) }
        #expect(subjects == [.name, .name, .account])
    }

    @Test("of many names, the first of the latest 64 is forgotten first")
    func bound() throws {
        var forbidden = ForbiddenNames()
        for number in 0..<70 { forbidden.answered(try name("www\(number).example"), now: now) }
        for number in 0..<6 {
            let subject = forbidden.subject(of: try name("www\(number).example"), isClockRight: true, now: now)
            #expect(subject == .name)
        }
        let subjects = try (6..<9).map {
            forbidden.subject(of: try name("www\($0).example"), isClockRight: true, now: now)
        }
        #expect(subjects == [.name, .name, .account])
    }
}
