// What the clocks say of each other.

import Testing

@testable import LinuxIO

struct ClockTests {
    @Test("when the machine came up is the same at every look, to a fraction of a millisecond")
    func boot() {
        var looks: [Int64] = []
        let end = Clock.now() + .milliseconds(5)
        while Clock.now() < end { looks.append(Clock.bootMicrosecondsSince1970()) }
        looks.sort()
        // A look between whose two clocks somebody else ran is late, but most are not.
        #expect(looks[looks.count / 2] - looks[0] < 100, "\(looks.count) looks")
    }
}
