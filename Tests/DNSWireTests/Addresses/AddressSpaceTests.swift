// Private addresses: every entry of the IANA special-purpose registries, with its borders and neighbours.

import DNSWire
import Testing

@Suite("Address space")
struct AddressSpaceTests {
    /// Each entry of both registries with the address before it, its first, its last, and the address after it; "+" is
    /// public, "-" private, "=" documentation. Multicast and withdrawn prefixes follow the registries.
    private static let registries: [(String, String)] = [
        ("0.0.0.0/8", "-0.0.0.0 -0.255.255.255 +1.0.0.0"),
        ("0.0.0.0/32", "-0.0.0.0 -0.0.0.1"),
        ("10.0.0.0/8", "+9.255.255.255 -10.0.0.0 -10.255.255.255 +11.0.0.0"),
        ("100.64.0.0/10", "+100.63.255.255 -100.64.0.0 -100.127.255.255 +100.128.0.0"),
        ("127.0.0.0/8", "+126.255.255.255 -127.0.0.0 -127.255.255.255 +128.0.0.0"),
        ("169.254.0.0/16", "+169.253.255.255 -169.254.0.0 -169.254.255.255 +169.255.0.0"),
        ("172.16.0.0/12", "+172.15.255.255 -172.16.0.0 -172.31.255.255 +172.32.0.0"),
        ("192.0.0.0/24", "+191.255.255.255 -192.0.0.0 -192.0.0.255 +192.0.1.0"),
        ("192.0.0.0/29", "+191.255.255.255 -192.0.0.0 -192.0.0.7 -192.0.0.8"),
        ("192.0.0.8/32", "-192.0.0.7 -192.0.0.8 +192.0.0.9"),
        ("192.0.0.9/32", "-192.0.0.8 +192.0.0.9 +192.0.0.10"),
        ("192.0.0.10/32", "+192.0.0.9 +192.0.0.10 -192.0.0.11"),
        ("192.0.0.170/32", "-192.0.0.169 -192.0.0.170 -192.0.0.171"),
        ("192.0.0.171/32", "-192.0.0.170 -192.0.0.171 -192.0.0.172"),
        ("192.0.2.0/24", "+192.0.1.255 =192.0.2.0 =192.0.2.255 +192.0.3.0"),
        ("192.31.196.0/24", "+192.31.195.255 +192.31.196.0 +192.31.196.255 +192.31.197.0"),
        ("192.52.193.0/24", "+192.52.192.255 +192.52.193.0 +192.52.193.255 +192.52.194.0"),
        ("192.88.99.0/24", "+192.88.98.255 +192.88.99.0 +192.88.99.255 +192.88.100.0"),
        ("192.88.99.2/32", "+192.88.99.1 -192.88.99.2 +192.88.99.3"),
        ("192.168.0.0/16", "+192.167.255.255 -192.168.0.0 -192.168.255.255 +192.169.0.0"),
        ("192.175.48.0/24", "+192.175.47.255 +192.175.48.0 +192.175.48.255 +192.175.49.0"),
        ("198.18.0.0/15", "+198.17.255.255 -198.18.0.0 -198.19.255.255 +198.20.0.0"),
        ("198.51.100.0/24", "+198.51.99.255 =198.51.100.0 =198.51.100.255 +198.51.101.0"),
        ("203.0.113.0/24", "+203.0.112.255 =203.0.113.0 =203.0.113.255 +203.0.114.0"),
        ("240.0.0.0/4", "-239.255.255.255 -240.0.0.0 -255.255.255.255"),
        ("255.255.255.255/32", "-255.255.255.254 -255.255.255.255"),
        ("224.0.0.0/4", "+223.255.255.255 -224.0.0.0 -239.255.255.255 -240.0.0.0"),
        // IPv6
        ("::1/128", "-:: -::1 -::2"),
        ("::/128", "-:: -::1"),
        ("::ffff:0:0/96", "+::fffe:ffff:ffff -::ffff:0:0 -::ffff:ffff:ffff +::1:0:0:0"),
        ("64:ff9b::/96", "+64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff -64:ff9b:: -64:ff9b::ffff:ffff +64:ff9b::1:0:0"),
        (
            "64:ff9b:1::/48",
            "+64:ff9b:0:ffff:ffff:ffff:ffff:ffff -64:ff9b:1:: -64:ff9b:1:ffff:ffff:ffff:ffff:ffff +64:ff9b:2::"
        ),
        ("100::/64", "+ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff -100:: -100::ffff:ffff:ffff:ffff -100:0:0:1::"),
        ("100:0:0:1::/64", "-100::ffff:ffff:ffff:ffff -100:0:0:1:: -100::1:ffff:ffff:ffff:ffff +100:0:0:2::"),
        (
            "2001::/23",
            "+2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff -2001:: -2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff +2001:200::"
        ),
        (
            "2001::/32",
            "+2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff -2001:: -2001:0:ffff:ffff:ffff:ffff:ffff:ffff -2001:1::"
        ),
        ("2001:1::1/128", "-2001:1:: +2001:1::1 +2001:1::2"),
        ("2001:1::2/128", "+2001:1::1 +2001:1::2 +2001:1::3"),
        ("2001:1::3/128", "+2001:1::2 +2001:1::3 -2001:1::4"),
        (
            "2001:2::/48",
            "-2001:1:ffff:ffff:ffff:ffff:ffff:ffff -2001:2:: -2001:2:0:ffff:ffff:ffff:ffff:ffff -2001:2:1::"
        ),
        (
            "2001:3::/32",
            "-2001:2:ffff:ffff:ffff:ffff:ffff:ffff +2001:3:: +2001:3:ffff:ffff:ffff:ffff:ffff:ffff -2001:4::"
        ),
        (
            "2001:4:112::/48",
            "-2001:4:111:ffff:ffff:ffff:ffff:ffff +2001:4:112:: +2001:4:112:ffff:ffff:ffff:ffff:ffff -2001:4:113::"
        ),
        (
            "2001:10::/28",
            "-2001:f:ffff:ffff:ffff:ffff:ffff:ffff -2001:10:: -2001:1f:ffff:ffff:ffff:ffff:ffff:ffff +2001:20::"
        ),
        (
            "2001:20::/28",
            "-2001:1f:ffff:ffff:ffff:ffff:ffff:ffff +2001:20:: +2001:2f:ffff:ffff:ffff:ffff:ffff:ffff +2001:30::"
        ),
        (
            "2001:30::/28",
            "+2001:2f:ffff:ffff:ffff:ffff:ffff:ffff +2001:30:: +2001:3f:ffff:ffff:ffff:ffff:ffff:ffff -2001:40::"
        ),
        (
            "2001:db8::/32",
            "+2001:db7:ffff:ffff:ffff:ffff:ffff:ffff =2001:db8:: =2001:db8:ffff:ffff:ffff:ffff:ffff:ffff +2001:db9::"
        ),
        (
            "2002::/16",
            "+2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff -2002:: -2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff +2003::"
        ),
        (
            "2620:4f:8000::/48",
            "+2620:4f:7fff:ffff:ffff:ffff:ffff:ffff +2620:4f:8000:: +2620:4f:8000:ffff:ffff:ffff:ffff:ffff "
                + "+2620:4f:8001::"
        ),
        (
            "3fff::/20",
            "+3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff =3fff:: =3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff +3fff:1000::"
        ),
        (
            "5f00::/16",
            "+5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff -5f00:: -5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff +5f01::"
        ),
        (
            "fc00::/7",
            "+fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff -fc00:: -fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff +fe00::"
        ),
        (
            "fe80::/10",
            "+fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff -fe80:: -febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff -fec0::"
        ),
        ("::/96", "-:: -::ffff:ffff +::1:0:0"),
        ("::ffff:0:0:0/96", "+::fffe:ffff:ffff:ffff -::ffff:0:0:0 -::ffff:0:ffff:ffff +::ffff:1:0:0"),
        (
            "fec0::/10",
            "-febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff -fec0:: -feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff -ff00::"
        ),
        ("ff00::/8", "-feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff -ff00:: -ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ]

    @Test("first, last and neighbouring address of every entry of both registries", arguments: registries)
    func registry(_ prefix: String, _ addresses: String) throws {
        for word in addresses.split(separator: " ") {
            let address = try #require(Address(String(word.dropFirst())), "\(word)")
            #expect(address.isPrivate == word.hasPrefix("-"), "\(word) beside \(prefix)")
            if address.mapped == nil { #expect(address.isDocumentation == word.hasPrefix("="), "\(word)") }
        }
    }

    @Test(
        "an IPv6 address that carries an IPv4 address is as private as that one",
        arguments: [
            ("2002:a00:1::1", true), ("2002:7f00:1::", true), ("2002:c0a8:101:1::1", true), ("2002:a9fe:a9fe::", true),
            ("2002:101:101::1", false), ("2002:c058:6301::", false), ("2002:e000:1::", true),
            ("64:ff9b::10.0.0.1", true), ("64:ff9b::127.0.0.1", true), ("64:ff9b::169.254.169.254", true),
            ("64:ff9b::1.1.1.1", false), ("64:ff9b::192.0.0.9", false), ("64:ff9b::192.0.0.170", true),
            ("64:ff9b:1::10.0.0.1", true), ("64:ff9b:1:a00:0:100::", true), ("64:ff9b:1::1.1.1.1", true),
            ("::10.0.0.1", true), ("::1.1.1.1", true), ("::ffff:0:10.0.0.1", true), ("::ffff:0:1.1.1.1", true),
            ("::ffff:1.1.1.1", true), ("::ffff:10.0.0.1", true),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", true), ("fec0::1", true), ("feff::1", true),
            ("2a00:1::5efe:10.0.0.1", true), ("2a00:1::200:5efe:192.168.1.1", true),
            ("2a00:1::5efe:1.1.1.1", false), ("2a00:1::100:5efe:10.0.0.1", false), ("2a00:1::a00:1", false),
        ])
    func embedded(_ text: String, _ isPrivate: Bool) throws {
        #expect(try #require(Address(text)).isPrivate == isPrivate)
    }

    @Test(
        "an address that a discovered NAT64 prefix translates to a private one is private; no prefix makes one public")
    func discovered() throws {
        for text in [
            "2a00:64::/32", "2a00:64:100::/40", "2a00:64:1::/48", "2a00:64:1:100::/56", "2a00:64::/64", "2a00:64::/96",
        ] {
            let prefix = try #require(Prefix(text).flatMap { NAT64Prefix($0) })
            for (inner, isPrivate) in [("10.0.0.1", true), ("127.0.0.1", true), ("1.1.1.1", false)] {
                let address = try #require(Address(inner).flatMap { prefix.embed($0) })
                #expect(address.isPrivate(behind: [prefix]) == isPrivate, "\(inner) behind \(text)")
                #expect(!address.isPrivate(behind: []))
            }
        }
        let unique = try #require(Prefix("fd00:64::/96").flatMap { NAT64Prefix($0) })
        #expect(try #require(Address("fd00:64::101:101")).isPrivate(behind: [unique]))
    }
}
