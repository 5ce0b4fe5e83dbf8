// Addresses as text and in the kernel's form.

import DNSWire
import Glibc
import LinuxIO
import Testing

struct SocketAddressTests {
    @Test(
        "text is read and printed",
        arguments: [
            ("127.0.0.1:53", "127.0.0.1:53"), ("0.0.0.0:0", "0.0.0.0:0"), ("255.255.255.255:65535", nil),
            ("[::1]:53", nil), ("[::]:5300", nil), ("[2001:DB8:0:0:0:0:0:1]:53", "[2001:db8::1]:53"),
            ("[::ffff:192.0.2.1]:53", nil), ("[fe80::1%1]:53", nil), ("[fe80::1%lo]:53", "[fe80::1%1]:53"),
            ("192.0.2.1:00053", "192.0.2.1:53"),
        ] as [(String, String?)])
    func textIsReadAndPrinted(text: String, printed: String?) throws {
        let address = try #require(SocketAddress(withZone: text))
        #expect(address.description == printed ?? text)
        #expect(SocketAddress(withZone: address.description) == address)
    }

    @Test(
        "what is no address with a port is refused",
        arguments: [
            "", ":", ":53", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+53",
            "127.0.0.1:53 ", " 127.0.0.1:53", "127.0.0.1:5a", "127.0.0.1:000053", "127.0.0:53", "127.0.0.01:53",
            "127.0.0.256:53", "127.0.0.1.1:53", "localhost:53", "::1:53", "[::1]", "[::1]53", "[]:53", "[:53", "]:53",
            "[127.0.0.1]:53", "[::1%]:53", "[::1%0]:53", "[::1%no-such-interface]:53", "[1:2:3:4:5:6:7:8:9]:53",
            "127.0.0.1\0:53", "[::1%lo\0]:53", "127.0.0.1:5\u{0663}", "[::1:53",
        ])
    func badTextIsRefused(text: String) {
        #expect(SocketAddress(withZone: text) == nil)
    }

    @Test(
        "wildcards are told apart from the rest",
        arguments: [
            ("127.0.0.1:1", false), ("0.0.0.0:1", true), ("0.0.0.1:1", false), ("[::1]:1", false), ("[::]:1", true),
            ("[::ffff:0.0.0.0]:1", false), ("[fe80::1%1]:1", false),
        ])
    func wildcards(text: String, isWildcard: Bool) throws {
        #expect(try #require(SocketAddress(withZone: text)).isWildcard == isWildcard)
    }

    @Test(
        "the kernel's form keeps everything",
        arguments: ["192.0.2.1:53", "[2001:db8::1]:53", "[fe80::1%1]:65535", "0.0.0.0:0"])
    func kernelFormKeepsEverything(text: String) throws {
        let address = try #require(SocketAddress(withZone: text))
        #expect(SocketAddress(address.kernel.storage) == address)
    }

    @Test func `an IPv4 address and the same bits in IPv6 are two addresses`() {
        #expect(SocketAddress("0.0.0.1:1") != SocketAddress("[::1]:1"))
        #expect(SocketAddress("0.0.0.0:1") != SocketAddress("[::]:1"))
    }

    @Test func `other families are no socket address`() {
        var storage = sockaddr_storage()
        storage.ss_family = sa_family_t(AF_UNIX)
        #expect(SocketAddress(storage) == nil)
    }
}
