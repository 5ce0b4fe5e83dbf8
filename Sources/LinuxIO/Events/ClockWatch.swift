// Becomes readable when the wall clock is set or the machine resumes from suspend, which an epoll wait with a deadline
// does not notice. The caller compares the clocks to learn which it was.

import CLinux
import Glibc

package final class ClockWatch {
    private let source: FileDescriptor

    /// - Throws: EMFILE, ENFILE, ENOMEM.
    package init() throws(SystemError) {
        source = FileDescriptor(
            owning: try SystemCall.run("timerfd_create") {
                timerfd_create(CLOCK_REALTIME, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
            })
        try arm()
    }

    /// The descriptor that becomes readable after the clocks have moved relative to each other.
    package var descriptor: Int32 { source.raw }

    /// Rearms the timer after `descriptor` became readable. No change in between is missed.
    package func rearm() throws(SystemError) {
        do throws(SystemError) {
            _ = try unsafe SystemCall.bytes("read", maxBytes: MemoryLayout<UInt64>.size) {
                unsafe read(source.raw, $0, $1)
            }
        } catch {
            // ECANCELED means that the clock was set.
            guard error.code == ECANCELED else { throw error }
        }
        try arm()
    }

    /// Sets a timer that never expires but is cancelled when the clock is set (timerfd_create(2)).
    private func arm() throws(SystemError) {
        var never = itimerspec()
        never.it_value.tv_sec = .max
        let flags = Int32(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)
        try SystemCall.run("timerfd_settime") { unsafe timerfd_settime(source.raw, flags, &never, nil) }
    }
}
