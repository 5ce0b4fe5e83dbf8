// Sends entries to the journal, one datagram per entry. An own client as for sd_notify(3): libsystemd would pass large
// entries as files, for which the log has no need.

import DNSWire
import Glibc

package final class JournalSocket: Sendable {
    package static let usualPath = "/run/systemd/journal/socket"

    private let descriptor: FileDescriptor
    private let journal: LocalAddress

    /// Does not look for the journal, which may begin later.
    ///
    /// - Throws: EMFILE and the like, ENAMETOOLONG over 107 bytes.
    package init(path: String = JournalSocket.usualPath) throws(SystemError) {
        journal = try LocalAddress(path)
        descriptor = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_DGRAM)
        try descriptor.setNonBlocking(false)
    }

    /// Sends an entry in the journal's native protocol. Waits as long as the journal has no room.
    ///
    /// - Returns: false if there is no journal, or the entry does not fit a datagram (about 200 KiB).
    package func send(_ entry: [UInt8]) -> Bool {
        do throws(SystemError) {
            try journal.send(entry, from: descriptor)
            return true
        } catch {
            return false
        }
    }
}
