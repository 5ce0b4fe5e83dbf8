// Checks registrable domains with the installed Public Suffix List.

import DNSWire
import Testing

@testable import PublicSuffix

struct RegistrableDomainTests {
    /// The expected values follow from publicsuffix.org's rules, applied by hand.
    @Test(
        "a registrable domain is the public suffix and one label",
        arguments: [
            ("www.example.com", "example.com"),
            ("example.com", "example.com"),
            ("WWW.Example.CO.UK", "example.co.uk"),
            ("a.b.c.example.co.uk", "example.co.uk"),
            ("www.city.kawasaki.jp", "city.kawasaki.jp"),
            ("user.github.io", "user.github.io"),
            ("x.user.github.io", "user.github.io"),
            ("shop.xn--fiqs8s", "shop.xn--fiqs8s"),
            ("www.shop.xn--fiqs8s", "shop.xn--fiqs8s"),
            // No rule lists the suffix.
            ("www.lab.invalid-suffix", "lab.invalid-suffix"),
            // The name has bytes that no host name has.
            ("a\\.b\\000.example.com", "example.com"),
            ("_dmarc.mail.example.org", "example.org"),
        ])
    func registrable(_ text: String, _ expected: String) throws {
        let name = try #require(Name(text))
        #expect(name.registrableDomain == Name(expected))
    }

    @Test("a public suffix, the root and a single label stand for themselves", arguments: ["co.uk", "com", ".", "lan"])
    func ownSuffix(_ text: String) throws {
        let name = try #require(Name(text))
        #expect(name.registrableDomain == name)
        #expect(name.isPublicSuffix)
    }
}
