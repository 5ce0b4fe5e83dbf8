// What is told of a client, and of which clients nothing is.

import DNSWire
import Testing

@Suite("Client subnets")
struct ClientSubnetTests {
    @Test(
        "a public client is known by 24 or 56 bits",
        arguments: [
            ("198.51.100.77", "198.51.100.0/24"), ("8.8.8.8", "8.8.8.0/24"), ("223.255.255.1", "223.255.255.0/24"),
            ("2001:db8:1:2ff:3::4", "2001:db8:1:200::/56"), ("2606:4700::1111", "2606:4700::/56"),
        ])
    func publicClients(_ text: String, _ prefix: String) throws {
        let subnet = ClientSubnet(of: try #require(Address(text)))
        #expect(subnet.prefix?.description == prefix && subnet != .none)
    }

    @Test(
        "nothing is told of a client in a private network",
        arguments: [
            "127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.1.1", "100.64.0.1", "0.0.0.0", "::1",
            "fe80::1", "fd00::1", "::ffff:192.168.1.1", "255.255.255.255", "ff02::fb",
        ])
    func privateClients(_ text: String) throws {
        #expect(ClientSubnet(of: try #require(Address(text))) == .none)
        #expect(ClientSubnet.none.prefix == nil)
    }

    @Test("the same network in both families' forms stays apart, and clients of one network share it")
    func identity() throws {
        let subnets = try [
            "192.0.2.1", "192.0.2.254", "192.0.3.1", "2001:db8::1", "2001:db8:0:ff::1", "2001:db8:0:100::",
        ]
        .map { ClientSubnet(of: try #require(Address($0))) }
        #expect(subnets[0] == subnets[1] && subnets[3] == subnets[4])
        #expect(Set(subnets).count == 4)
    }
}
