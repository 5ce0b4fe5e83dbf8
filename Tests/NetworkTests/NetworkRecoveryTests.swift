// The time that clients wait after a change, and time that passed during a suspend.

import DNSWire
import Network
import TestSupport
import Testing

@Suite struct NetworkRecoveryTests {
    private let start = Instant.testStart

    private func at(_ milliseconds: Int) -> Instant { start + .milliseconds(milliseconds) }

    private func change(_ cause: NetworkCause, usableSince milliseconds: Int) -> NetworkChange {
        NetworkChange(
            identity: NetworkIdentity(kind: .wifi), cause: cause, usableSince: start + .milliseconds(milliseconds))
    }

    @Test("recovery lasts from the first usable route to the first fresh answer, once for each change")
    func once() {
        var recovery = NetworkRecovery()
        #expect(recovery.learned(now: at(0)) == nil)
        recovery.began(change(.restored, usableSince: 1000))
        let first = recovery.learned(now: at(1340))
        #expect(first?.cause == .restored && first?.recovery == .milliseconds(340))
        #expect(recovery.learned(now: at(1350)) == nil)
        #expect(recovery.times(.restored).count == 1)
        #expect(recovery.times(.restored).sum == .milliseconds(340))
        #expect(recovery.times(.wake) == NetworkRecovery.Times())
    }

    @Test(
        "what took as long as a bound is within it",
        arguments: [
            (50, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]), (51, [0, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
            (1000, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]), (30_001, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ] as [(Int, [UInt64])])
    func histogram(_ milliseconds: Int, _ atMost: [UInt64]) {
        var recovery = NetworkRecovery()
        recovery.began(change(.route, usableSince: 0))
        _ = recovery.learned(now: at(milliseconds))
        #expect(recovery.times(.route).atMost == atMost)
        #expect(recovery.times(.route).count == 1)
    }

    @Test("a change before the first answer takes the place of the one before, which has no time")
    func interrupted() {
        var recovery = NetworkRecovery()
        recovery.began(change(.wake, usableSince: 0))
        recovery.began(change(.route, usableSince: 2000))
        let first = recovery.learned(now: at(2100))
        #expect(first?.cause == .route && first?.recovery == .milliseconds(100))
        #expect(recovery.times(.wake).count == 0)
        #expect(recovery.times(.route).count == 1)
    }

    @Test("after an idle time, recovery is measured from the first query")
    func idle() {
        var recovery = NetworkRecovery()
        recovery.requested(now: at(0))
        recovery.began(change(.wake, usableSince: 1000))
        recovery.requested(now: at(600_000))
        recovery.requested(now: at(600_050))
        #expect(recovery.learned(now: at(600_200))?.recovery == .milliseconds(200))
        // The question came within the first second, so the whole time counts.
        recovery.began(change(.wake, usableSince: 700_000))
        recovery.requested(now: at(700_900))
        #expect(recovery.learned(now: at(701_100))?.recovery == .milliseconds(1100))
    }

    @Test("an answer that was there before the route is no negative time")
    func early() {
        var recovery = NetworkRecovery()
        recovery.began(change(.route, usableSince: 1000))
        #expect(recovery.learned(now: at(900))?.recovery == .zero)
    }
}

@Suite struct WakeWatchTests {
    @Test("a sleep is what the one clock has more than the other since it was last read")
    func sleep() {
        var watch = WakeWatch(sinceBoot: .seconds(100), awake: .seconds(60))
        #expect(watch.read(sinceBoot: .seconds(110), awake: .seconds(70), lateBy: .zero) == nil)
        #expect(watch.read(sinceBoot: .seconds(3720), awake: .seconds(80), lateBy: .zero) == .seconds(3600))
        #expect(watch.read(sinceBoot: .seconds(3721), awake: .seconds(81), lateBy: .zero) == nil)
    }

    @Test(
        "what is no sleep",
        arguments: [
            // The differences come from two successive readings, from a clock that was slowed down, and from a busy
            // loop.
            (10_000, 9_001, 0), (10_000, 10_500, 0), (10_000, 10_000, 4_999),
        ])
    func awake(_ sinceBoot: Int, _ awake: Int, _ lateBy: Int) {
        var watch = WakeWatch(sinceBoot: .zero, awake: .zero)
        #expect(
            watch.read(
                sinceBoot: .milliseconds(sinceBoot), awake: .milliseconds(awake), lateBy: .milliseconds(lateBy)) == nil)
    }

    @Test("a loop that comes much too late was stopped")
    func stopped() {
        var watch = WakeWatch(sinceBoot: .zero, awake: .zero)
        #expect(watch.read(sinceBoot: .seconds(60), awake: .seconds(60), lateBy: .seconds(59)) == .seconds(59))
        #expect(watch.read(sinceBoot: .seconds(70), awake: .seconds(69), lateBy: .seconds(5)) == .seconds(5))
        #expect(watch.read(sinceBoot: .seconds(71), awake: .seconds(70), lateBy: .zero) == nil)
    }
}
