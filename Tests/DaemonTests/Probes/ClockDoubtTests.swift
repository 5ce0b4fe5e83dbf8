// The readings of the two clocks that make the time doubtful, and the length of the doubt.

import DNSWire
import LinuxIO
import Testing

@testable import Daemon

struct ClockDoubtTests {
    private let start = Clock.now()
    private let released: Int64 = 1_800_000_000

    /// The doubt after readings of the seconds since boot and of the wall clock in seconds after the release.
    private func doubt(_ readings: [(boot: Int, wall: Int)]) -> ClockDoubt {
        var doubt = ClockDoubt(releasedAt: released)
        for reading in readings {
            doubt.read(
                wallMilliseconds: (released + Int64(reading.wall)) * 1000, now: start + .seconds(reading.boot))
        }
        return doubt
    }

    @Test("clocks that run alike are trusted, however rarely they are read", arguments: [1, 60, 86_400, 30 * 86_400])
    func alike(seconds: Int) {
        let doubt = doubt([(0, 10), (seconds, 10 + seconds)])
        #expect(!doubt.isDoubtful(now: start + .seconds(seconds)))
    }

    @Test("a clock that was never read, or is before the release, is doubtful")
    func early() {
        #expect(doubt([]).isDoubtful(now: start))
        #expect(doubt([(0, -1)]).isDoubtful(now: start))
        #expect(doubt([(0, -86_400), (100, -86_300)]).isDoubtful(now: start + .seconds(100)))
        #expect(!doubt([(0, 0)]).isDoubtful(now: start))
    }

    @Test("a clock that is set to another time is doubtful for a minute", arguments: [-86_400, -31, 31, 86_400])
    func jumped(by seconds: Int) {
        let doubt = doubt([(0, 100_000), (5, 100_005 + seconds)])
        #expect(doubt.isDoubtful(now: start + .seconds(5)))
        #expect(doubt.isDoubtful(now: start + .seconds(5) + .milliseconds(59_999)))
        #expect(!doubt.isDoubtful(now: start + .seconds(65)))
    }

    @Test("small corrections are no jump", arguments: [-30, -1, 1, 30])
    func corrected(by seconds: Int) {
        #expect(!doubt([(0, 1000), (5, 1005 + seconds)]).isDoubtful(now: start + .seconds(5)))
    }

    @Test("a jump out of the past leaves a minute of doubt, and a second jump begins it again")
    func settling() {
        let doubt = doubt([(0, -40_000_000), (10, 1000), (50, 5000), (51, 5001)])
        #expect(doubt.isDoubtful(now: start + .seconds(109)))
        #expect(!doubt.isDoubtful(now: start + .seconds(110)))
    }

    @Test("a reading that is older than the last one shows nothing")
    func unordered() {
        #expect(!doubt([(100, 1000), (50, 950), (101, 1001)]).isDoubtful(now: start + .seconds(101)))
        #expect(!doubt([(100, 1000), (50, 1000)]).isDoubtful(now: start + .seconds(101)))
    }
}
