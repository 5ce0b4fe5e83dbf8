// Registers the HTTP client's sockets with the event loop and passes their readiness to it.

import HTTPClient
package import LinuxIO

final class DescriptorWatcher {
    private let loop: EventLoop
    private var registrations: [Int32: EventLoop.Registration] = [:]
    var onReady: (Int32) -> Void = { _ in }

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    func update(_ descriptor: Int32, _ wants: SocketInterest) {
        let interest: Readiness
        switch wants {
        case .none:
            if let registration = registrations.removeValue(forKey: descriptor) { loop.unwatch(registration) }
            return
        case .read: interest = .readable
        case .write: interest = .writable
        case .both: interest = [.readable, .writable]
        }
        // If registration fails, the transfer ends by its time-out.
        if let registration = registrations[descriptor] {
            try? loop.change(registration, to: interest)
        } else {
            registrations[descriptor] = try? loop.watch(descriptor, for: interest) { [unowned self] _ in
                onReady(descriptor)
            }
        }
    }
}

extension HTTPClient {
    /// Creates a client whose sockets this loop watches.
    ///
    /// - Parameter timer: the owner's.
    package convenience init(on loop: EventLoop, _ timer: PartTimer) {
        let watcher = DescriptorWatcher(loop)
        self.init(interest: watcher.update, timer: timer)
        watcher.onReady = { [unowned self] in socketReady($0, now: Clock.now()) }
    }
}
