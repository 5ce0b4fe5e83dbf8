// The group of a client: a prefix for public addresses, no prefix for private ones.

import DNSWire
import Testing

@Suite("Groups of clients")
struct ClientGroupTests {
    @Test(
        "a public client is known by 24 or 56 bits",
        arguments: [
            ("198.51.100.77", "198.51.100.0/24"), ("8.8.8.8", "8.8.8.0/24"), ("223.255.255.1", "223.255.255.0/24"),
            ("2001:db8:1:2ff:3::4", "2001:db8:1:200::/56"), ("2606:4700::1111", "2606:4700::/56"),
        ])
    func publicClients(_ text: String, _ prefix: String) throws {
        let subnet = ClientGroup(of: try #require(Address(text)))
        #expect(subnet.subnet?.description == prefix && subnet != .all)
    }

    @Test(
        "nothing is told of a client in a private network",
        arguments: [
            "127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.1.1", "100.64.0.1", "0.0.0.0", "::1",
            "fe80::1", "fd00::1", "::ffff:192.168.1.1", "255.255.255.255", "ff02::fb",
        ])
    func privateClients(_ text: String) throws {
        #expect(ClientGroup(of: try #require(Address(text))) == .all)
        #expect(ClientGroup.all.subnet == nil)
    }

    @Test("a view is kept beside the subnet")
    func views() throws {
        let client = try #require(Address("198.51.100.77"))
        for view: UInt32 in [1, 16, .max] {
            let group = ClientGroup(of: client, view: view)
            #expect(group.view == view && group.subnet == ClientGroup(of: client).subnet)
            #expect(ClientGroup(view: view).view == view && ClientGroup(view: view).subnet == nil)
        }
    }

    @Test("the same network in both families' forms stays apart, and clients of one network share it")
    func identity() throws {
        let subnets = try [
            "192.0.2.1", "192.0.2.254", "192.0.3.1", "2001:db8::1", "2001:db8:0:ff::1", "2001:db8:0:100::",
        ]
        .map { ClientGroup(of: try #require(Address($0))) }
        #expect(subnets[0] == subnets[1] && subnets[3] == subnets[4])
        #expect(Set(subnets).count == 4)
    }
}
