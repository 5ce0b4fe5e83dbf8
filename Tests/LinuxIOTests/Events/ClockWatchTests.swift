// The clocks that reveal a suspend, and the descriptor that wakes.

import DNSWire
import Glibc
import Testing

@testable import LinuxIO

struct ClockWatchTests {
    @Test func `a watch is silent while the clocks agree`() throws {
        let watch = try ClockWatch()
        var entry = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
        #expect(unsafe poll(&entry, 1, 0) == 0)
        try watch.rearm()
        #expect(unsafe poll(&entry, 1, 0) == 0)
    }

    @Test func `the clock without suspend goes on, and never before the one with it`() {
        let first = Clock.awake()
        let second = Clock.awake()
        #expect(first <= second)
        #expect(second <= .nanoseconds(Clock.now().nanoseconds))
    }

    /// The step is one nanosecond: the kernel reports it, and no other program is disturbed.
    @Test(.enabled(if: geteuid() == 0))
    func `a clock that is set makes the watch readable until it is armed again`() throws {
        let watch = try ClockWatch()
        try #require(setsClockForward())
        #expect(becomesReady(watch.descriptor))
        try watch.rearm()
        var entry = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
        #expect(unsafe poll(&entry, 1, 0) == 0)
        try #require(setsClockForward())
        #expect(becomesReady(watch.descriptor))
    }

    /// Calls adjtimex(2), which Glibc's module lacks, with ADJ_SETOFFSET and ADJ_NANO. The struct is in words of eight
    /// bytes: the modes come first, the nanoseconds are the eleventh word.
    private func setsClockForward() -> Bool {
        typealias Call = @convention(c) (UnsafeMutableRawPointer) -> Int32
        guard let symbol = unsafe dlsym(nil, "adjtimex") else { return false }
        var timex = [UInt64](repeating: 0, count: 64)
        timex[0] = 0x2100
        timex[10] = 1
        return unsafe unsafeBitCast(symbol, to: Call.self)(&timex) >= 0
    }
}
