// Stops watching the listeners for 1 s after the process ran out of descriptors or memory. A pending connection would
// otherwise wake the event loop again at once.

package import DNSWire

package struct AcceptPause {
    private static let length: Duration = .seconds(1)

    private let loop: EventLoop
    private var listening: [EventLoop.Registration] = []
    /// When the pause ends; nil while the listeners are watched.
    package private(set) var until: Instant?

    package init(_ loop: EventLoop) {
        self.loop = loop
    }

    /// Adds the registration of a listener that is watched for readability.
    package mutating func add(_ registration: EventLoop.Registration) {
        listening.append(registration)
    }

    package mutating func begin(now: Instant) {
        until = now + AcceptPause.length
        watch(for: [])
    }

    package mutating func timePassed(now: Instant) {
        guard let end = until, end <= now else { return }
        until = nil
        watch(for: .readable)
    }

    /// Stops watching the listeners for good.
    package mutating func stop() {
        until = nil
        for registration in listening { loop.unwatch(registration) }
        listening = []
    }

    private func watch(for interest: Readiness) {
        // Can't fail for a descriptor that is already watched.
        for registration in listening { try? loop.change(registration, to: interest) }
    }
}
