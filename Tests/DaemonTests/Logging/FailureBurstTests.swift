// The flight recorder is written when many clients get failures; the clock is the test's own.

import DNSWire
import LinuxIO
import Testing

@testable import Daemon

@Suite("Burst of failures")
struct FailureBurstTests {
    private let start = Clock.now()

    private func after(_ seconds: Double) -> Instant { start + .milliseconds(Int(seconds * 1000)) }

    @Test("half of the answers within ten seconds, and fifty of them")
    func threshold() {
        for (answers, failures, expected) in [(49, 49, false), (50, 24, false), (50, 25, true), (500, 249, false)]
            as [(UInt64, UInt64, Bool)]
        {
            var burst = FailureBurst()
            let isBurstAtFirst = burst.counted(answers: 1000, failures: 900, now: after(0))
            #expect(!isBurstAtFirst, "the first count is where it begins")
            let isBurst = burst.counted(answers: 1000 + answers, failures: 900 + failures, now: after(9))
            #expect(isBurst == expected, "\(failures) of \(answers)")
        }
    }

    @Test("what is older than ten seconds does not count")
    func window() {
        var burst = FailureBurst()
        var bursts = 0
        // Four failures a second without end are 40 in ten seconds.
        for second in 0..<200 {
            let count = UInt64(4 * second)
            if burst.counted(answers: count, failures: count, now: after(Double(second))) { bursts += 1 }
        }
        #expect(bursts == 0)
    }

    @Test("a trouble is written once, however long it takes, and the next one ten minutes later at the earliest")
    func pause() {
        var burst = FailureBurst()
        var seconds: [Int] = []
        var count: UInt64 = 0
        let isTroubled = { (second: Int) in
            switch second {
            case 0..<1300, 1320..<1330, 1500..<1510, 1950..<2000: true
            default: false
            }
        }
        for second in 0..<2100 {
            if isTroubled(second) { count += 100 }
            if burst.counted(answers: count, failures: count, now: after(Double(second))) { seconds.append(second) }
        }
        #expect(seconds == [1, 1320, 1950])
    }

    @Test("failures within one second are enough")
    func sudden() {
        var burst = FailureBurst()
        _ = burst.counted(answers: 0, failures: 0, now: after(0))
        let isFewEnough = !burst.counted(answers: 30, failures: 30, now: after(0.2))
        let isBurst = burst.counted(answers: 60, failures: 60, now: after(0.4))
        #expect(isFewEnough && isBurst)
    }
}
