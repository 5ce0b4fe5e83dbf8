// Without descriptors nothing can be accepted, and the connection that waits would wake the loop again at once: the
// listeners are left alone for a while.

import LinuxIO

struct AcceptPause {
    private static let length: Duration = .seconds(1)

    private let loop: EventLoop
    private var listening: [EventLoop.Registration] = []
    /// When listeners are watched again; nil while they are.
    private(set) var until: Instant?

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    /// Takes a listener's registration, which waits to read.
    mutating func add(_ registration: EventLoop.Registration) {
        listening.append(registration)
    }

    mutating func begin(now: Instant) {
        until = now + AcceptPause.length
        watch(for: [])
    }

    mutating func timePassed(now: Instant) {
        guard let end = until, end <= now else { return }
        until = nil
        watch(for: .readable)
    }

    private func watch(for interest: Readiness) {
        // Can't fail for a descriptor that is watched already.
        for registration in listening { try? loop.change(registration, to: interest) }
    }
}
