// Waits until one of a few descriptors is readable. Serving threads use it because epoll stays registered with its
// sockets: the kernel then checks for waiters at every datagram sent (some 5 % of the cost of a cached reply).
// poll(2) is registered only while it waits.

import Glibc

package struct PollSet {
    private var entries: [pollfd]

    /// - Parameter descriptors: open for as long as the set is used, and few: each wait looks at all of them.
    package init(_ descriptors: [Int32]) {
        entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    }

    /// Returns when at least one descriptor has something to read, an error included.
    ///
    /// - Throws: ENOMEM.
    package mutating func wait() throws(SystemError) {
        try SystemCall.run("poll") { unsafe poll(&entries, nfds_t(entries.count), -1) }
    }

    /// What the last wait found.
    ///
    /// - Parameter index: the descriptor's place in the list that the set was made of.
    package func isReady(_ index: Int) -> Bool { entries[index].revents != 0 }
}
