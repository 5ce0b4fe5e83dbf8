// Reports the state to the service manager (sd_notify(3)), one datagram per message, and puts sockets into its store.
// Never waits. A message that cannot be sent is lost unless it is repeated.

import CLinux
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
        /// The manager's store gets copies of these descriptors, and the next process gets them from there. Copies
        /// that the store has already change nothing.
        case keep([Int32], KeptKind)
        /// The store closes all of this kind.
        case forget(KeptKind)
    }

    /// - Returns: false if the manager's socket has no room.
    @discardableResult
    package func tell(_ news: News) -> Bool {
        switch news {
        case .ready(let line): send("READY=1\nSTATUS=\(line.split(separator: "\n").first ?? "")\n")
        // systemd compares the time with its own, so that it does not take an earlier `ready` for this reload's.
        case .reloading: send("RELOADING=1\nMONOTONIC_USEC=\(Int64(Clock.awake() / .microseconds(1)))\n")
        case .stopping: send("STOPPING=1\n")
        case .alive: send("WATCHDOG=1\n")
        case .keep(let descriptors, let kind): keep(descriptors, kind)
        case .forget(let kind): send("FDSTOREREMOVE=1\nFDNAME=\(kind.rawValue)\n")
        }
    }

    /// Sends as many messages as the descriptors need. The manager must not watch them (FDPOLL=0): it would take an
    /// error of a socket, which the next process reads, for its end.
    private func keep(_ descriptors: [Int32], _ kind: KeptKind) -> Bool {
        let text = "FDSTORE=1\nFDNAME=\(kind.rawValue)\nFDPOLL=0\n"
        let step = Int(clinux_max_passed)
        return stride(from: 0, to: descriptors.count, by: step).allSatisfy { start in
            send(text, with: Array(descriptors[start..<min(start + step, descriptors.count)]))
        }
    }

    /// - Returns: false if the manager's socket has no room.
    private func send(_ text: String, with descriptors: [Int32] = []) -> Bool {
        do throws(SystemError) {
            try manager.send(Array(text.utf8), with: descriptors, from: descriptor)
            return true
        } catch {
            return error.code != EAGAIN
        }
    }
}
