// The event loop: the handlers that it calls, and their times.

import CLinux
import DNSWire
import Glibc
import Testing

@testable import LinuxIO

struct EventLoopTests {
    private let loop: EventLoop

    init() throws {
        loop = try EventLoop()
    }

    /// A descriptor that is readable from the start.
    private func readable() -> FileDescriptor { FileDescriptor(owning: eventfd(1, Int32(EFD_NONBLOCK))) }
    private func idle() -> FileDescriptor { FileDescriptor(owning: eventfd(0, Int32(EFD_NONBLOCK))) }

    @Test func `a watcher is called with what its descriptor is ready for`() throws {
        let source = readable()
        var calls: [Readiness] = []
        let registration = try loop.watch(source.raw, for: .readable) { calls.append($0) }
        try loop.turn(until: nil)
        #expect(calls == [.readable])
        try loop.change(registration, to: [.readable, .writable])
        try loop.turn(until: Clock.now() + patience)
        #expect(calls == [.readable, [.readable, .writable]])
        try loop.change(registration, to: [])
        try loop.turn(until: Clock.now())
        #expect(calls.count == 2)
    }

    @Test func `an unwatched descriptor is silent, and may be watched again`() throws {
        let source = readable()
        var calls = 0
        let first = try loop.watch(source.raw, for: .readable) { _ in calls += 1 }
        loop.unwatch(first)
        loop.unwatch(first)
        try loop.turn(until: Clock.now())
        #expect(calls == 0)
        _ = try loop.watch(source.raw, for: .readable) { _ in calls += 10 }
        try loop.change(first, to: [])
        try loop.turn(until: Clock.now() + patience)
        #expect(calls == 10)
    }

    @Test func `a descriptor cannot be watched twice, and a file not at all`() throws {
        let source = idle()
        _ = try loop.watch(source.raw, for: .readable) { _ in }
        #expect(throws: SystemError(call: "epoll_ctl", code: EEXIST)) {
            _ = try loop.watch(source.raw, for: .readable) { _ in }
        }
        let file = FileDescriptor(owning: unsafe open("/proc/self/status", O_RDONLY))
        #expect(throws: SystemError(call: "epoll_ctl", code: EPERM)) {
            _ = try loop.watch(file.raw, for: .readable) { _ in }
        }
    }

    @Test func `an event for a descriptor that was reused in the same batch is dropped`() throws {
        let first = readable()
        let second = readable()
        let newcomer = idle()
        var registrations: [Int32: EventLoop.Registration] = [:]
        var renewed: EventLoop.Registration?
        var oldCalls = 0
        var newCalls = 0
        // Both events are in the batch; the first handler replaces the other descriptor under the same number.
        for (own, other) in [(first.raw, second.raw), (second.raw, first.raw)] {
            registrations[own] = try loop.watch(own, for: .readable) { [loop] _ in
                oldCalls += 1
                if let registration = registrations[other] { loop.unwatch(registration) }
                _ = dup2(newcomer.raw, other)
                renewed = try? loop.watch(other, for: .readable) { _ in newCalls += 1 }
            }
        }
        try loop.turn(until: Clock.now() + patience)
        #expect(oldCalls == 1)
        #expect(newCalls == 0)
        registrations.values.forEach(loop.unwatch)
        try loop.change(#require(renewed), to: .writable)
        try loop.turn(until: Clock.now() + patience)
        #expect(newCalls == 1)
    }

    @Test func `unwatching late does not affect the new owner of the number`() throws {
        let source = readable()
        let newcomer = readable()
        var calls: [String] = []
        let late = try loop.watch(source.raw, for: .readable) { _ in calls.append("old") }
        // The call replaces and closes the old descriptor in one step; the kernel drops its registration.
        try #require(dup2(newcomer.raw, source.raw) == source.raw)
        _ = try loop.watch(source.raw, for: .readable) { _ in calls.append("new") }
        loop.unwatch(late)
        try loop.turn(until: Clock.now() + patience)
        #expect(calls == ["new"])
    }

    @Test func `a turn does not end before its deadline`() throws {
        for microseconds in [0, 1, 999, 1001, 2500] {
            let deadline = Clock.now() + .microseconds(microseconds)
            try loop.turn(until: deadline)
            #expect(Clock.now() >= deadline)
        }
        try loop.turn(until: Clock.now() - .seconds(5))
    }

    @Test func `a hang-up is reported even without an interest`() throws {
        var ends: [Int32] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        let reader = FileDescriptor(owning: ends[0])
        var calls: [Readiness] = []
        _ = try loop.watch(reader.raw, for: []) { calls.append($0) }
        do { _ = FileDescriptor(owning: ends[1]) }
        try loop.turn(until: Clock.now() + patience)
        #expect(calls == [.hangUp])
    }

    @Test func `more ready descriptors than a batch are served in several turns`() throws {
        let count = EventLoop.batchSize + 10
        let sockets = try (0..<count).map { _ in try DatagramSocket(serving: #require(SocketAddress("127.0.0.1:0"))) }
        var called: Set<Int32> = []
        for socket in sockets {
            let descriptor = socket.descriptor.raw
            _ = try loop.watch(descriptor, for: .writable) { _ in called.insert(descriptor) }
        }
        try loop.turn(until: Clock.now() + patience)
        #expect(called.count == EventLoop.batchSize)
        try loop.turn(until: Clock.now() + patience)
        #expect(called.count == count)
        withExtendedLifetime(sockets) {}
    }

    @Test func `a body that starts a turn stops the process`() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop()
            let source = FileDescriptor(owning: eventfd(1, 0))
            _ = try loop.watch(source.raw, for: .readable) { _ in try? loop.turn(until: nil) }
            try loop.turn(until: Clock.now() + patience)
            exit(EXIT_SUCCESS)
        }
    }
}

struct ClockTests {
    @Test("when the machine came up is the same at every look, to a fraction of a millisecond")
    func boot() {
        var looks: [Int64] = []
        let end = Clock.now() + .milliseconds(5)
        while Clock.now() < end { looks.append(Clock.bootMicrosecondsSince1970()) }
        looks.sort()
        // A reading is late if the thread was preempted between its two clock calls; most readings are not.
        #expect(looks[looks.count / 2] - looks[0] < 100, "\(looks.count) looks")
    }

    @Test(
        "waits are rounded up to milliseconds and bounded",
        arguments: [
            (Duration.zero, 0), (.seconds(-1), 0), (.nanoseconds(-1), 0), (.nanoseconds(1), 1), (.milliseconds(1), 1),
            (.nanoseconds(1_000_001), 2), (.milliseconds(1999), 1999), (.seconds(86_399), 86_399_000),
            (.seconds(86_400), 86_400_000), (.seconds(1 << 40), 86_400_000),
        ] as [(Duration, Int32)])
    func waits(duration: Duration, milliseconds: Int32) {
        let now = Clock.now()
        #expect(Clock.milliseconds(from: now, to: now + duration) == milliseconds)
    }

    @Test func `the wall clock shows milliseconds since 1970`() {
        let before = Int64(time(nil)) * 1000
        let now = Clock.wallMilliseconds()
        #expect((before..<(before + 60_000)).contains(now))
    }
}
