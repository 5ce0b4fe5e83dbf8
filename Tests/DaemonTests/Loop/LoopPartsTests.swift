// The list of the parts that the main loop gives a turn.

import DNSWire
import LinuxIO
import Testing

@testable import Daemon

@Suite("Loop parts")
struct LoopPartsTests {
    private final class Part: LoopPart {
        let nextDeadline: Instant?
        private(set) var turns = 0

        init(_ nextDeadline: Instant?) { self.nextDeadline = nextDeadline }
        func timePassed(now: Instant) { turns += 1 }
    }

    private final class Owner {
        private let late: Part
        private var optional: Part?
        let none: Part? = nil
        let idle = Part(nil)
        let number = 7

        init(late: Part, optional: Part?) { (self.late, self.optional) = (late, optional) }
    }

    @Test("private and optional properties are parts, too; the earliest deadline counts")
    func all() {
        let start = Clock.now()
        let (late, early) = (Part(start + .seconds(2)), Part(start + .seconds(1)))
        let owner = Owner(late: late, optional: early)
        let parts = LoopParts(of: owner)
        #expect(parts.nextDeadline == start + .seconds(1))
        parts.timePassed(now: start)
        #expect(late.turns == 1 && early.turns == 1 && owner.idle.turns == 1)
    }

    @Test("without parts there is no deadline")
    func none() {
        #expect(LoopParts().nextDeadline == nil)
    }
}
