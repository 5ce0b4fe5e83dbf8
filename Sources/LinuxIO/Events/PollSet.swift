// Waits until one of a few descriptors is readable. Serving threads use poll(2), which is registered only during the
// wait. A permanent epoll registration makes the kernel check for waiters at every datagram sent, about 5 % of the cost
// of a cached reply.

import Glibc

package struct PollSet {
    private var entries: [pollfd]

    /// - Parameter descriptors: few descriptors, open as long as the set is used. Each wait checks all of them.
    package init(_ descriptors: [Int32]) {
        entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    }

    /// Waits until at least one descriptor is readable or has an error.
    ///
    /// - Throws: ENOMEM.
    package mutating func wait() throws(SystemError) {
        try SystemCall.run("poll") { unsafe poll(&entries, nfds_t(entries.count), -1) }
    }

    /// Returns the result of the last wait.
    ///
    /// - Parameter index: index of the descriptor in the list given to `init`.
    package func isReady(_ index: Int) -> Bool { entries[index].revents != 0 }
}
