// The view that a client belongs to, by its address.

package import DNSWire

package struct ClientViews: Sendable {
    /// The networks, the longest prefix first: with several matches, it decides.
    private let prefixes: [(prefix: Prefix, view: UInt32)]

    package static let none = ClientViews([:])

    /// - Parameter clients: the networks of each view, by its number.
    package init(_ clients: [UInt32: [Prefix]]) {
        prefixes = clients.flatMap { view, prefixes in prefixes.map { ($0, view) } }
            .sorted { $0.prefix.length > $1.prefix.length }
    }

    var isEmpty: Bool { prefixes.isEmpty }

    /// Returns the number of the client's view, from 1; 0: none. An IPv4 client of an IPv6 socket counts as an IPv4
    /// client.
    ///
    /// - Parameter client: the address of another machine.
    func number(of client: Address) -> UInt32 {
        let client = client.mapped ?? client
        for index in prefixes.indices where prefixes[index].prefix.contains(client) { return prefixes[index].view }
        return 0
    }
}
