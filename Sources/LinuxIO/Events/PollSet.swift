// Waits until one of a few descriptors can be read. For serving threads, in place of an `EventLoop`: epoll stays
// registered with its sockets, so the kernel looks there for somebody to wake at every datagram that is sent (some
// 5 % of what a cached reply costs), while poll(2) is registered only as long as it waits.

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
