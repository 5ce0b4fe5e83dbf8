// The client subnet in every dialect: requests carry only the data that the settings allow.

import DNSWire
import HTTPDNS
import Testing

struct ClientSubnetTests {
    @Test(
        "a client subnet of length 0 is not sent as an address",
        arguments: Dialects.names.filter { Dialects.entry(named: $0)?.carriesAddressesOnly == true },
        ["0.0.0.0/0", "::/0"])
    func nowhere(dialectName: String, subnet: String) throws {
        let dialect = try #require(Dialects.make(named: dialectName, url: "http://127.0.0.1/x"))
        let asked = [try question("www.example.com")]
        let silent = try dialect.request(for: asked, in: .test)
        #expect(try dialect.request(for: asked, in: .test(clientSubnet: subnet)) == silent)
    }
}
