// The kernel's interfaces, addresses, routes and neighbours, from which all network facts are derived. Values only; the
// kernel reader builds them.

package import DNSWire

package struct NetworkTables: Equatable, Sendable {
    package var links: [Link]
    package var addresses: [InterfaceAddress]
    package var routes: [Route]
    package var neighbours: [Neighbour]

    package init(
        links: [Link] = [], addresses: [InterfaceAddress] = [], routes: [Route] = [], neighbours: [Neighbour] = []
    ) {
        self.links = links
        self.addresses = addresses
        self.routes = routes
        self.neighbours = neighbours
    }

    package struct Link: Equatable, Sendable {
        package let index: Int
        package let name: String
        /// ARPHRD_* of <net/if_arp.h>.
        package let hardwareType: Int
        /// The driver's name: "veth", "wireguard", "tun", "bridge"; empty for plain hardware.
        package let kind: String
        package let isWireless: Bool
        /// Administratively up, and with a carrier as far as the driver knows.
        package let isUp: Bool

        package init(index: Int, name: String, hardwareType: Int, kind: String, isWireless: Bool, isUp: Bool) {
            self.index = index
            self.name = name
            self.hardwareType = hardwareType
            self.kind = kind
            self.isWireless = isWireless
            self.isUp = isUp
        }
    }

    /// A usable address: neither tentative nor a duplicate.
    package struct InterfaceAddress: Equatable, Sendable {
        package let link: Int
        package let address: Address
        package let prefixLength: Int

        package init(link: Int, address: Address, prefixLength: Int) {
            self.link = link
            self.address = address
            self.prefixLength = prefixLength
        }
    }

    /// A unicast route of any table but "local".
    package struct Route: Equatable, Sendable {
        package let destination: Prefix
        /// Nil: the destination is on the link.
        package let gateway: Address?
        package let link: Int
        package let metric: UInt32
        package let table: UInt32

        package init(destination: Prefix, gateway: Address?, link: Int, metric: UInt32, table: UInt32) {
            self.destination = destination
            self.gateway = gateway
            self.link = link
            self.metric = metric
            self.table = table
        }
    }

    /// A neighbour with a known hardware address.
    package struct Neighbour: Equatable, Sendable {
        package let link: Int
        package let address: Address
        package let hardwareAddress: [UInt8]

        package init(link: Int, address: Address, hardwareAddress: [UInt8]) {
            self.link = link
            self.address = address
            self.hardwareAddress = hardwareAddress
        }
    }
}
