// The kernel's list of addresses.

import DNSWire
import LinuxIO
import Testing

struct InterfacesTests {
    @Test("every address has its interface and network")
    func networks() throws {
        let all = Interfaces.all()
        let loopback = try #require(all.first { $0.address == .loopback4 })
        #expect(loopback.interface == "lo" && loopback.network?.description == "127.0.0.0/8")
        for entry in all { #expect(entry.network?.contains(entry.address) == true, "\(entry)") }
        #expect(Interfaces.addresses() == all.map(\.address))
    }
}
