// How an address is reached on the network in use: directly, through a NAT64 prefix, or not at all. Does not change
// which host may answer there.

package import DNSWire
package import HTTPClient
import Network
import Resolver

package struct Reachability: Equatable {
    var reach = NetworkReach.everything
    /// NAT64 prefixes of the network, best first.
    var prefixes: [NAT64Prefix] = []

    /// Returns the address to dial; nil if no route leads there.
    package func way(to address: Address) -> Address? {
        if reach.includes(address) { return address }
        return prefixes.lazy.compactMap { $0.embed(address) }.first { reach.includes($0) }
    }

    /// Returns the endpoint as it is to be dialled, by its proxy's address if it has one.
    package func way(to endpoint: HTTPEndpoint) -> HTTPEndpoint? {
        guard let address = Address(endpoint.dialledAddress), let way = way(to: address) else { return nil }
        return way == address ? endpoint : endpoint.dialled(at: way.description)
    }

    /// Returns whether the server may be reachable. The kernel tells at once if one with an interface is not.
    func leads(to server: Nameserver) -> Bool {
        server.zone != nil || server.interface != nil || reach.includes(server.address)
    }
}
