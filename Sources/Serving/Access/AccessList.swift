// Networks whose clients may query. Checked before a query is looked up or handed over, and over TCP when the
// connection is accepted.

package import DNSWire

// Immutable, so `server.allow` needs a restart: a changeable list would cost the fast path one more lock.
package struct AccessList: Sendable {
    private let prefixes: [Prefix]

    package init(_ prefixes: [Prefix]) {
        self.prefixes = prefixes
    }

    /// Treats an IPv4 client of an IPv6 socket as an IPv4 client.
    package func allows(_ client: Address) -> Bool {
        let client = client.mapped ?? client
        for index in prefixes.indices where prefixes[index].contains(client) { return true }
        return false
    }
}
