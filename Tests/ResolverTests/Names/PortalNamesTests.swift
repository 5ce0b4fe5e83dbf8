// The names by which programs detect a captive portal, and the hosts that a portal cannot take over.

import DNSWire
import Testing

@testable import Resolver

@Suite("Portal names")
struct PortalNamesTests {
    private func name(_ text: String) throws -> Name { try #require(Name(text)) }

    @Test(
        "check names are covered, and no other name of their owners",
        arguments: [
            ("captive.apple.com", true), ("CONNECTIVITYCHECK.gstatic.com", true), ("nmcheck.gnome.org", true),
            ("www.captive.apple.com", false), ("apple.com", false), ("www.gstatic.com", false),
            ("www.google.com", false), ("www.example.com", false),
        ])
    func checkNames(_ text: String, _ isCovered: Bool) throws {
        #expect(PortalNames().cover(try name(text)) == isCovered)
    }

    @Test("a host of the portal covers what is under it")
    func hosts() throws {
        var names = PortalNames()
        #expect(names.add(try name("login.hotel.example")))
        #expect(names.hosts == [try name("login.hotel.example")])
        #expect(names.cover(try name("login.hotel.example")))
        #expect(names.cover(try name("img.LOGIN.hotel.example")))
        #expect(!names.cover(try name("hotel.example")))
        #expect(!names.cover(try name("xlogin.hotel.example")))
    }

    @Test(
        "no portal takes a top-level domain, the root, what check names lie under, or what is covered already",
        arguments: [
            ".", "com", "google.com", "gstatic.com", "apple.com", "captive.apple.com", "a.login.hotel.example",
            "co.uk", "CO.UK", "com.cn", "github.io",
        ])
    func refused(_ text: String) throws {
        var names = PortalNames()
        #expect(names.add(try name("login.hotel.example")))
        #expect(!names.add(try name(text)))
        #expect(names.hosts.count == 1)
    }

    @Test(
        "a registrable domain stands for itself alone",
        arguments: ["facebook.com", "hotel.co.uk", "hotel.github.io", "hotel.example"])
    func registrable(_ text: String) throws {
        var names = PortalNames()
        #expect(names.add(try name(text)))
        #expect(names.cover(try name(text)))
        #expect(!names.cover(try name("www." + text)))
        #expect(names.add(try name("www." + text)))
        #expect(names.cover(try name("a.www." + text)))
    }

    @Test("private addresses are the portal host's and the check names', not those of names under the host")
    func privateAddresses() throws {
        var names = PortalNames()
        #expect(names.add(try name("login.hotel.example")))
        for (text, mayBePrivate) in [
            ("login.hotel.example", true), ("img.login.hotel.example", false), ("captive.apple.com", true),
            ("hotel.example", false),
        ] {
            #expect(names.mayBePrivate(try name(text)) == mayBePrivate, "\(text)")
        }
    }

    @Test("there is room for a few hosts")
    func room() throws {
        var names = PortalNames()
        for number in 1...6 { _ = names.add(try name("h\(number).example")) }
        #expect(names.hosts.map(\.description) == ["h1.example", "h2.example", "h3.example", "h4.example"])
    }
}
