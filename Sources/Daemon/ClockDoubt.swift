// Whether the wall clock can be trusted to say that a certificate is expired. Reads no clock itself: both are told.

import LinuxIO

struct ClockDoubt {
    /// Time servers correct small errors by running faster or slower; what is set by more was wrong, or is wrong now.
    static let jump: Duration = .seconds(30)
    /// A clock that is being put right is often set more than once: by hand, by the first time server, by the others.
    static let settlingTime: Duration = .seconds(60)

    private let releasedAtMilliseconds: Int64
    private var last: (now: Instant, wallMilliseconds: Int64)?
    private var jumpedAt: Instant?

    /// - Parameter releasedAt: in seconds since 1970; it cannot be earlier than that now.
    init(releasedAt: Int64) {
        releasedAtMilliseconds = releasedAt * 1000
    }

    /// To be told often: a jump is seen between two readings, and counts from the second on.
    ///
    /// - Parameters:
    ///   - now: since boot, suspended time included; a reading from before the last one shows nothing.
    ///   - wallMilliseconds: since 1970.
    mutating func read(wallMilliseconds: Int64, now: Instant) {
        if let last {
            guard now >= last.now else { return }
            let difference = .milliseconds(wallMilliseconds - last.wallMilliseconds) - (now - last.now)
            if difference > ClockDoubt.jump || difference < .zero - ClockDoubt.jump { jumpedAt = now }
        }
        last = (now, wallMilliseconds)
    }

    /// True as well while nothing was read.
    func isDoubtful(now: Instant) -> Bool {
        guard let last, last.wallMilliseconds >= releasedAtMilliseconds else { return true }
        return jumpedAt.map { now < $0 + ClockDoubt.settlingTime } ?? false
    }
}
