// The identity of a network, in words and in bytes.

import DNSWire
import Network
import Testing

@Suite struct NetworkIdentityTests {
    private static func identity(_ commands: [String], _ domains: [String] = []) throws -> NetworkIdentity {
        var machine = Machine()
        for command in commands { try machine.run(command) }
        return machine.identity(searchDomains: domains)
    }

    private static let home = "join wlan0 wifi 192.168.1.20/24 via 192.168.1.1 0a:1b:2c:3d:4e:5f"

    @Test(
        "a network in words",
        arguments: [
            ([home], "wifi, gateway 192.168.1.1 (0a:1b:2c:3d:4e:5f), 192.168.1.0/24"),
            (["join eth0 ethernet 10.1.2.3/8 via 10.0.0.1"], "ethernet, gateway 10.0.0.1, 10.0.0.0/8"),
            (
                ["join eth0 ethernet 2001:db8::1:2/128 via fe80::1 02:00:00:00:00:01"],
                "ethernet, gateway fe80::1 (02:00:00:00:00:01), 2001:db8::/64"
            ),
            (
                [home, "link wg0 wireguard", "route 10.0.0.0/8 wg0", "link tun0 tun", "route default tun0 table 52"],
                "wifi, gateway 192.168.1.1 (0a:1b:2c:3d:4e:5f), 192.168.1.0/24, all through VPN tun0, VPN wg0"
            ),
            (["link lo0 infiniband", "route default lo0"], "other"),
            (["link br0 bridge", "address 10.0.0.2/24 br0", "route default br0"], "ethernet, 10.0.0.0/24"),
            (["join wwp0s20 ethernet 100.64.0.5/30 via 100.64.0.6 02:00:00:00:00:01"], "cellular"),
            (["join wwan0 modem 100.64.0.5/30 via 100.64.0.6"], "cellular"),
            (["link tap0 tap", "address 10.0.2.100/24 tap0", "route default tap0 via 10.0.2.2"], tap),
            (["link eth0 ethernet", "address 10.0.0.2/24 eth0", "route 10.0.0.0/24 eth0"], "no network"),
            ([], "no network"),
        ])
    func words(_ commands: [String], _ words: String) throws {
        #expect(try NetworkIdentityTests.identity(commands).words == words)
    }

    private static let tap = "tunnel, gateway 10.0.2.2, 10.0.2.0/24, all through VPN tap0"

    @Test(
        "which way out counts",
        arguments: [
            // The route with the lower metric counts.
            (["route default eth0 via 10.1.0.1 metric 100", "route default eth1 via 10.2.0.1 metric 50"], "10.2.0.1"),
            // The main table comes before others, IPv4 before IPv6, hardware before a VPN, the whole before its halves.
            (["route default eth0 via 10.1.0.1 table 7", "route default eth1 via 10.2.0.1 metric 900"], "10.2.0.1"),
            (["route default6 eth0 via fe80::1", "route default eth1 via 10.2.0.1 metric 900"], "10.2.0.1"),
            (["route default wg0 via 10.9.0.1", "route default eth1 via 10.2.0.1 metric 900"], "10.2.0.1"),
            (
                [
                    "route 0.0.0.0/1 eth0 via 10.1.0.1", "route 128.0.0.0/1 eth0 via 10.1.0.1",
                    "route default eth1 via 10.2.0.1",
                ], "10.2.0.1"
            ),
            // A worse route counts if there is no better one.
            (["route default eth0 via 10.1.0.1 table 7"], "10.1.0.1"),
            (["route default wg0 via 10.9.0.1"], "10.9.0.1"),
            (["route 0.0.0.0/1 eth0 via 10.1.0.1", "route 128.0.0.0/1 eth1 via 10.2.0.1"], "10.1.0.1"),
            (["route 2000::/3 eth0 via fe80::1"], "fe80::1"),
            // The two routes cover everything but private networks.
            (["route 0.0.0.0/5 wg0 via 10.9.0.1", "route 196.0.0.0/6 wg0 via 10.9.0.1"], "10.9.0.1"),
            // A route to a single site does not count.
            (["route 1.1.1.0/24 eth0 via 10.1.0.1", "route default wg0 via 10.9.0.1"], "10.9.0.1"),
            // Half a default route is none, and a route through an interface that is down does not count.
            (["route 0.0.0.0/1 eth0 via 10.1.0.1"], nil), (["down eth0", "route default eth0 via 10.1.0.1"], nil),
            (["down eth0", "route 128.0.0.0/1 eth0", "route 0.0.0.0/1 eth1 via 10.2.0.1"], nil),
            // Equal routes count in the order of their interface or gateway, whatever the order of the tables.
            (["route default eth1 via 10.2.0.1", "route default eth0 via 10.1.0.1"], "10.1.0.1"),
            (["route default6 eth0 via fe80::2", "route default6 eth0 via fe80::1"], "fe80::1"),
        ] as [([String], String?)])
    func wayOut(_ routes: [String], _ gateway: String?) throws {
        let links = ["link eth0 ethernet", "link eth1 ethernet", "link wg0 wireguard"]
        let identity = try NetworkIdentityTests.identity(links + routes)
        #expect(identity.gateway == gateway.flatMap { Address($0) })
        #expect((identity == .isolated) == (gateway == nil))
    }

    @Test("the prefix is that of the address whose neighbour the gateway is")
    func prefixes() throws {
        let commands = ["link eth0 ethernet", "address 10.0.0.5/8 eth0", "address 10.7.0.9/16 eth0"]
        let identity = try NetworkIdentityTests.identity(
            commands + ["address 9.0.0.1/30 eth0", "route default eth0 via 10.7.0.1"])
        #expect(identity.prefix == Prefix("10.7.0.0/16"))
        // A single address is not a prefix.
        let single = try NetworkIdentityTests.identity([
            "link eth0 ethernet", "address 192.0.2.5/32 eth0", "route default eth0 via 192.0.2.1",
        ])
        #expect(single.prefix == nil)
    }

    @Test("complete is what has its gateway's hardware address, or none to have")
    func completeness() throws {
        func isComplete(_ command: String...) throws -> Bool { try NetworkIdentityTests.identity(command).isComplete }
        #expect(try isComplete(NetworkIdentityTests.home))
        let wired = "join eth0 ethernet 10.0.0.2/24 via 10.0.0.1"
        #expect(try !isComplete(wired))
        // A neighbour with the gateway's address on another link is a different host.
        #expect(try !isComplete(wired, "link eth1 ethernet", "neighbour 10.0.0.1 0a:00:00:00:00:01 eth1"))
        #expect(try isComplete("link eth0 ethernet", "route default eth0"))
        #expect(try isComplete("join wwan0 modem 100.64.0.5/30 via 100.64.0.6"))
        #expect(try isComplete("link tun0 tun", "route default tun0 via 10.8.0.1"))
        #expect(NetworkIdentity.isolated.isComplete)
    }

    @Test("search domains come in one form, and only good ones")
    func searchDomains() throws {
        let domains = ["B.example.", "a.example", "b.EXAMPLE", "", ".", "a b", "bad\u{1B}[2J", "bücher.example"]
        let long = String(repeating: "a", count: 254)
        let identity = try NetworkIdentityTests.identity([NetworkIdentityTests.home], domains + [long])
        #expect(identity.searchDomains == ["a.example", "b.example"])
        let many = try NetworkIdentityTests.identity([NetworkIdentityTests.home], (0..<9).map { "d\($0)" })
        #expect(many.searchDomains == ["d0", "d1", "d2", "d3", "d4", "d5"])
    }

    @Test("a name of an interface and a long list of domains stay one short line of ASCII")
    func shortLine() throws {
        let identity = try NetworkIdentityTests.identity(
            [NetworkIdentityTests.home, "link w\u{1B}\u{07}é tun", "route 10.0.0.0/8 w\u{1B}\u{07}é"],
            (0..<6).map { String(repeating: "\($0)", count: 200) })
        #expect(identity.words.contains("VPN w???"))
        #expect(identity.words.utf8.count == 240)
        #expect(identity.words.hasSuffix("..."))
    }

    @Test("more VPNs than a client has are cut, in the order of their names")
    func manyTunnels() throws {
        let tunnels = (10..<40).flatMap { ["link wg\($0) wireguard", "route 10.\($0).0.0/16 wg\($0)"] }
        let identity = try NetworkIdentityTests.identity([NetworkIdentityTests.home] + tunnels)
        #expect(identity.tunnels == (10..<26).map { "wg\($0)" })
    }

    @Test("different identities have different bytes, and equal ones the same")
    func bytes() throws {
        let hardware: [UInt8] = [1, 2, 3, 4, 5, 6]
        let gateway = try #require(Address("10.0.0.1"))
        let identities: [NetworkIdentity] = [
            .isolated, NetworkIdentity(kind: .wifi), NetworkIdentity(kind: .ethernet),
            NetworkIdentity(kind: .wifi, gateway: gateway),
            NetworkIdentity(kind: .wifi, gateway: gateway, gatewayHardware: hardware),
            NetworkIdentity(kind: .wifi, gatewayHardware: gateway.bytes),
            NetworkIdentity(kind: .wifi, prefix: Prefix("10.0.0.0/24")),
            NetworkIdentity(kind: .wifi, prefix: Prefix("10.0.0.0/25")),
            NetworkIdentity(kind: .wifi, tunnels: ["wg0"]), NetworkIdentity(kind: .wifi, exits: ["wg0"]),
            NetworkIdentity(kind: .wifi, tunnels: ["wg0"], exits: ["wg0"]),
            NetworkIdentity(kind: .wifi, tunnels: ["wg0", "wg1"]), NetworkIdentity(kind: .wifi, tunnels: ["wg0wg1"]),
            NetworkIdentity(kind: .wifi, searchDomains: ["wg0"]),
            NetworkIdentity(kind: .wifi, searchDomains: ["a", ""]),
            NetworkIdentity(kind: .wifi, searchDomains: ["a"]),
        ]
        #expect(Set(identities.map(\.canonicalBytes)).count == identities.count)
        #expect(NetworkIdentity(kind: .wifi, tunnels: ["é"]).canonicalBytes.first == 1)
        #expect(
            try NetworkIdentityTests.identity([NetworkIdentityTests.home]).canonicalBytes
                == [1, 2, 0, 4, 192, 168, 1, 1, 0, 6, 0x0A, 0x1B, 0x2C, 0x3D, 0x4E, 0x5F, 0, 5, 192, 168, 1, 0, 24]
                + [0, 1, 0, 0, 1, 0, 0, 1, 0])
    }
}
