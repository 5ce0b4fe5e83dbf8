// Which addresses routes lead to, and the short names of networks.

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
