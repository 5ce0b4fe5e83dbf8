// Reports the state to the service manager (sd_notify(3)), one datagram per message. Never waits. A message that cannot
// be sent is lost unless it is repeated.

package import DNSWire
import Glibc

package final class ServiceNotice: Sendable {
    private let descriptor: FileDescriptor
    private let manager: LocalAddress

    /// Longest interval between `alive` messages; nil if the manager does not supervise the process
    /// (sd_watchdog_enabled(3)).
    package let watchdogInterval: Duration?

    /// Returns nil if no manager listens, or if its address is of a kind that Debian's systemd does not use.
    ///
    /// - Parameter take: returns a variable of the environment and removes it.
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
        /// Every socket answers. The text is a status line for the operator.
        case ready(String)
        /// The settings are read again; `ready` follows.
        case reloading
        case stopping
        case alive
    }

    /// - Returns: false if the manager's socket has no room.
    @discardableResult
    package func tell(_ news: News) -> Bool {
        let text =
            switch news {
            case .ready(let line): "READY=1\nSTATUS=\(line.split(separator: "\n").first ?? "")\n"
            // systemd compares the time with its own, so that it does not take an earlier `ready` for this reload's.
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
