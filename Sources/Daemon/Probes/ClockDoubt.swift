// Decides whether the wall clock is reliable enough to judge a certificate as expired. Pure: the caller passes both
// clocks.

import DNSWire
import LinuxIO

struct ClockDoubt {
    /// Time servers correct small errors by slewing the clock. A larger step means that the clock was or is wrong.
    static let jump: Duration = .seconds(30)
    /// How long the clock stays doubtful after a step. It is often set more than once: manually and by several time
    /// servers.
    static let settlingTime: Duration = .seconds(60)

    private let releasedAtMilliseconds: Int64
    private var last: (now: Instant, wallMilliseconds: Int64)?
    private var jumpedAt: Instant?

    /// - Parameter releasedAt: release time of this version, in seconds since 1970; a correct clock is never earlier.
    init(releasedAt: Int64) {
        releasedAtMilliseconds = releasedAt * 1000
    }

    /// Records a reading of both clocks. Called often: a step is detected between two readings and counts from the
    /// second.
    ///
    /// - Parameters:
    ///   - now: time since boot, including suspension; a reading earlier than the last one is ignored.
    ///   - wallMilliseconds: since 1970.
    mutating func read(wallMilliseconds: Int64, now: Instant) {
        if let last {
            guard now >= last.now else { return }
            let difference = .milliseconds(wallMilliseconds - last.wallMilliseconds) - (now - last.now)
            if difference > ClockDoubt.jump || difference < .zero - ClockDoubt.jump { jumpedAt = now }
        }
        last = (now, wallMilliseconds)
    }

    /// Whether a second has passed since the last reading.
    func isDue(_ now: Instant) -> Bool { last.map { $0.now + .seconds(1) <= now } ?? true }

    /// True if the wall clock is unreliable, or if it was never read.
    func isDoubtful(now: Instant) -> Bool {
        guard let last, last.wallMilliseconds >= releasedAtMilliseconds else { return true }
        return jumpedAt.map { now < $0 + ClockDoubt.settlingTime } ?? false
    }
}
