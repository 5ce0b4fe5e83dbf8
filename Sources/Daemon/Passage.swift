// How an address is reached on the network in use: as it is, through the prefix of a network that translates to IPv4,
// or not at all. Changes nothing about who may answer there.

import DNSWire
import HTTPClient
import Network
import Resolver

struct Passage: Equatable {
    var reach = NetworkReach.everything
    /// Of the network's translator, the best first.
    var prefixes: [TranslationPrefix] = []

    /// Nil where no route leads.
    func way(to address: Address) -> Address? {
        if reach.includes(address) { return address }
        return prefixes.lazy.compactMap { $0.embed(address) }.first { reach.includes($0) }
    }

    /// The endpoint as it is to be dialled, by its proxy's address where it has one.
    func way(to endpoint: HTTPEndpoint) -> HTTPEndpoint? {
        guard let address = Address(endpoint.dialledAddress), let way = way(to: address) else { return nil }
        return way == address ? endpoint : endpoint.dialled(at: way.description)
    }

    /// The routes of a link-local address are its interface's.
    func leads(to server: Nameserver) -> Bool { server.zone != nil || reach.includes(server.address) }
}
