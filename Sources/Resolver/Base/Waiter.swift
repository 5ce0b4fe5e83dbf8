// A client that waits for a reply.

import DNSWire

/// A client that waits for a reply. The sender of the event assigns the number.
package struct Waiter: Hashable, Sendable {
    package let number: UInt64
    /// The client that this question counts against; nil for the daemon's own questions.
    package let client: ClientID?
    /// No client waits, but a refresh of the name's other address family.
    let isForRefresh: Bool

    package init(_ number: UInt64, of client: ClientID? = nil) {
        self.init(number, of: client, isForRefresh: false)
    }

    /// Few waiters have the number of another one.
    package func _rawHashValue(seed: Int) -> Int { QuickHash.value(of: number, seed: seed) }

    init(_ number: UInt64, of client: ClientID?, isForRefresh: Bool) {
        self.number = number
        self.client = client
        self.isForRefresh = isForRefresh
    }
}
