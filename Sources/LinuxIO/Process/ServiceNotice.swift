// Tells the service manager that has started us how we are (sd_notify(3)): one datagram a message. It never waits, and
// what can't be sent is lost unless it is told again: a manager that is gone is no reason to stop.

import Glibc

package final class ServiceNotice: Sendable {
    private let descriptor: FileDescriptor
    private let manager: LocalAddress

    /// How often the manager wants to hear `alive` at least; nil: it does not watch us (sd_watchdog_enabled(3)).
    package let watchdogInterval: Duration?

    /// Nil where no manager listens, or where its address is of no kind that Debian's systemd uses.
    ///
    /// - Parameter take: a variable of the environment, which is not there afterwards.
    package init?(_ take: (String) -> String? = Environment.take) {
        let (path, process, interval) = (take("NOTIFY_SOCKET"), take("WATCHDOG_PID"), take("WATCHDOG_USEC"))
        guard let path, let manager = try? LocalAddress(notice: path),
            let descriptor = try? FileDescriptor(socketOf: AF_UNIX, type: SOCK_DGRAM)
        else { return nil }
        self.manager = manager
        self.descriptor = descriptor
        let isForUs = process.map { Int32($0) == getpid() } ?? true
        let microseconds = interval.flatMap { Int64($0) } ?? 0
        watchdogInterval = isForUs && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    package enum News: Equatable, Sendable {
        /// Every socket answers; with one line for people.
        case ready(String)
        /// The settings are being read again; `ready` follows.
        case reloading
        case stopping
        case alive
    }

    /// - Returns: false when the manager has no room for it now.
    @discardableResult
    package func tell(_ news: News) -> Bool {
        let text =
            switch news {
            case .ready(let line): "READY=1\nSTATUS=\(line.split(separator: "\n").first ?? "")\n"
            // systemd compares the time with its own, so that an earlier `ready` is not taken for this reload's.
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(Int64(Clock.awake() / .microseconds(1)))\n"
            case .stopping: "STOPPING=1\n"
            case .alive: "WATCHDOG=1\n"
            }
        do throws(SystemError) {
            try manager.send(Array(text.utf8), from: descriptor)
            return true
        } catch {
            return error.code != EAGAIN
        }
    }
}
