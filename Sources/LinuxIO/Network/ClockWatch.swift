// Becomes readable when the wall clock was set, or the machine resumed from suspend: an epoll wait with a deadline
// notices neither. It does not tell which, nor by how much: compare the clocks.

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

    /// Readable when the clocks have moved against each other.
    package var descriptor: Int32 { source.raw }

    /// To be called when `descriptor` was readable; nothing is missed in between.
    package func rearm() throws(SystemError) {
        do throws(SystemError) {
            _ = try unsafe SystemCall.bytes("read", maxBytes: MemoryLayout<UInt64>.size) {
                unsafe read(source.raw, $0, $1)
            }
        } catch {
            // This is how the kernel says that the clock was set.
            guard error.code == ECANCELED else { throw error }
        }
        try arm()
    }

    /// A timer that never ends, but is called off when the clock is set (timerfd_create(2)).
    private func arm() throws(SystemError) {
        var never = itimerspec()
        never.it_value.tv_sec = .max
        let flags = Int32(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)
        try SystemCall.run("timerfd_settime") { unsafe timerfd_settime(source.raw, flags, &never, nil) }
    }
}
