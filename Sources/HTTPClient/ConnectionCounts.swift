// Counters of connections: how many were opened, reused and retried.

/// `opened` and `open` count sockets. `reused` counts replies over an existing connection. `retried` counts requests
/// that were repeated because such a connection seemed dead.
package struct ConnectionCounts: Equatable, Sendable {
    package var open = 0
    package var opened = 0
    package var reused = 0
    package var retried = 0

    package init(open: Int = 0, opened: Int = 0, reused: Int = 0, retried: Int = 0) {
        self.open = open
        self.opened = opened
        self.reused = reused
        self.retried = retried
    }

    package static func + (left: ConnectionCounts, right: ConnectionCounts) -> ConnectionCounts {
        ConnectionCounts(
            open: left.open + right.open, opened: left.opened + right.opened, reused: left.reused + right.reused,
            retried: left.retried + right.retried)
    }
}
