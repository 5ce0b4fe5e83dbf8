// The address families that routes reach, and the short names of networks.

import DNSWire
import Network
import Testing

@Suite struct NetworkReachTests {
    @Test(
        "a family has a way out with a default route, or with two halves of one",
        arguments: [
            (["0.0.0.0/0"], true, false), (["0.0.0.0/1", "128.0.0.0/1"], true, false), (["0.0.0.0/1"], false, false),
            (["::/0"], false, true), (["2000::/3"], false, true), (["10.0.0.0/8", "fd00::/8"], false, false),
            ([], false, false),
        ])
    func wayOut(_ prefixes: [String], _ has4: Bool, _ has6: Bool) {
        let reach = NetworkReach(prefixes: Set(prefixes.compactMap { Prefix($0) }))
        #expect(reach.hasWayOut(.a) == has4)
        #expect(reach.hasWayOut(.aaaa) == has6)
    }

    @Test(
        "routes and blocks on links that are up are reached; what lies within another is not told apart",
        arguments: [
            (["join eth0 ethernet 10.1.0.2/24 via 10.1.0.1"], ["0.0.0.0/0"]),
            (
                ["link eth0 ethernet", "address 10.1.0.2/24 eth0", "address fe80::2/64 eth0"],
                ["10.1.0.0/24", "fe80::/64"]
            ),
            (["link eth0 ethernet", "route 10.0.0.0/8 eth0", "route 10.1.0.0/16 eth0 table 7"], ["10.0.0.0/8"]),
            (
                ["link eth0 ethernet", "route 10.0.0.0/9 eth0", "route 10.128.0.0/9 eth0"],
                ["10.0.0.0/9", "10.128.0.0/9"]
            ),
            (["link eth0 ethernet", "route 10.0.0.0/8 eth0", "route fd00::/64 eth0"], ["10.0.0.0/8", "fd00::/64"]),
            (
                ["link eth0 ethernet", "down eth0", "address 10.1.0.2/24 eth0", "route default eth0 via 10.1.0.1"],
                []
            ),
            ([], []),
        ] as [([String], [String])])
    func ofTables(_ commands: [String], _ prefixes: [String]) throws {
        var machine = Machine()
        for command in commands { try machine.run(command) }
        #expect(NetworkReach(of: machine.tables).prefixes == Set(prefixes.compactMap { Prefix($0) }))
    }

    @Test("loopback is reached without any route")
    func loopback() throws {
        let reach = NetworkReach(prefixes: [])
        #expect(reach.includes(try #require(Address("127.0.0.9"))))
        #expect(reach.includes(try #require(Address("::1"))))
        #expect(!reach.includes(try #require(Address("192.0.2.1"))))
    }

    @Test("an identifier is written with all its digits and read again")
    func identifier() {
        let id = NetworkID(digest: [0, 1, 0xAB, 0xCD, 9])
        #expect(id.description == "0001abcd")
        #expect(NetworkID("0001abcd") == id)
        #expect(NetworkID("1abcd") == nil)
        #expect(NetworkID("+001abcd") == nil)
    }
}
