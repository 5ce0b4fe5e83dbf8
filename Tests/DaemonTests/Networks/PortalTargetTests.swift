// The targets that the portal's request must never reach.

import DNSWire
import Testing

@testable import Daemon

@Suite("Target of the portal's check request")
struct PortalTargetTests {
    @Test(
        "not to loopback, link-local or metadata addresses, unless the default gateway is on that link",
        arguments: [
            ("127.0.0.1", nil, false), ("127.0.0.1", "192.168.1.1", false), ("0.0.0.0", nil, false),
            ("::1", "fe80::1", false), ("::ffff:127.0.0.1", nil, false),
            ("169.254.169.254", nil, false), ("169.254.169.254", "10.0.0.1", false),
            ("169.254.7.7", "169.254.0.1", true), ("169.254.169.254", "169.254.0.1", true),
            ("fe80::5", "192.168.1.1", false), ("fe80::5", "fe80::1", true),
            ("fd00:ec2::254", "fe80::1", false), ("fd00:ec2::254", "fd00:ec2::1", true),
            ("100.100.100.200", "100.64.0.1", false), ("192.0.0.192", nil, false), ("fd20:ce::254", nil, false),
            ("168.63.129.16", nil, false), ("168.63.129.16", "10.0.0.1", false), ("168.63.129.17", nil, true),
            ("10.0.0.1", nil, true), ("192.168.1.1", "192.168.1.1", true), ("20.66.0.1", nil, true),
            ("fd00::1", "fe80::1", true), ("100.64.0.1", nil, true),
        ] as [(String, String?, Bool)])
    func links(_ text: String, _ gateway: String?, _ mayBeAsked: Bool) throws {
        let address = try #require(Address(text))
        #expect(address.mayBeAskedForPortal(gateway: gateway.flatMap { Address($0) }) == mayBeAsked)
    }
}
