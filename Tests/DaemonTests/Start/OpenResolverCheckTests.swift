// The check of listen addresses at the start, and its error text.

import DNSWire
import LinuxIO
import Settings
import Testing

@testable import Daemon

struct OpenResolverCheckTests {
    private static let ownAlone = ["127.0.0.0/8", "::1/128"]

    private func listen(_ texts: [String]) throws -> [SocketAddress] {
        try texts.map { try #require(SocketAddress($0)) }
    }

    private func places(_ text: String) throws -> [ListenPlace] { try listen([text]).map { .address($0) } }

    private func complaint(_ listen: [String], _ allow: [String]) throws -> String? {
        OpenResolverCheck.complaint(
            try self.listen(listen), of: "server.listen", allow: allow.compactMap { Prefix($0) })
    }

    @Test(
        "a listener for other machines without an allowed client is an error with the line to add",
        arguments: [
            (["192.168.7.5:53"], "192.168.7.5:53", "\"192.168.7.0/24\""),
            (["0.0.0.0:53"], "0.0.0.0:53", "\"192.168.1.0/24\""),
            (["127.0.0.1:53", "[::]:53"], "[::]:53", "\"192.168.1.0/24\""),
            (["[2001:db8:1:2:3::4]:53"], "[2001:db8:1:2:3::4]:53", "\"2001:db8:1:2::/64\""),
            (["[fe80::1]:53"], "[fe80::1]:53", "\"fe80::/10\""),
            (["10.0.0.1:53", "10.0.0.2:53", "10.9.0.1:53"], "10.0.0.1:53", "\"10.0.0.0/24\", \"10.9.0.0/24\""),
        ] as [([String], String, String)])
    func refused(listen: [String], named: String, example: String) throws {
        for allow in [OpenResolverCheckTests.ownAlone, ["127.0.0.1/32"]] {
            #expect(
                try complaint(listen, allow)
                    == "server.allow: found only loopback networks, but server.listen has \(named), which is not "
                    + "loopback; add the clients' networks, for example allow = [\"127.0.0.0/8\", \"::1/128\", "
                    + "\(example)] under [server], or leave only loopback addresses in server.listen")
        }
    }

    @Test("a loopback address needs no other network in `allow`, and others need one")
    func started() throws {
        for listen in [["127.0.0.1:53", "[::1]:53"], ["127.8.8.8:5300"], ["[::ffff:127.0.0.1]:53"]] {
            #expect(try complaint(listen, OpenResolverCheckTests.ownAlone) == nil)
        }
        for allow in ["192.168.7.0/24", "192.168.7.9/32", "0.0.0.0/0", "fe80::/10", "::/0"] {
            #expect(try complaint(["0.0.0.0:53"], OpenResolverCheckTests.ownAlone + [allow]) == nil)
        }
    }

    @Test("settings without the former addresses of the LAN are accepted while these are bound")
    func reload() throws {
        let ports = try PortBinding(places("0.0.0.0:0"), threads: 1)
        var settings = Settings.defaults
        settings.server.listen = try places("127.0.0.1:53")
        settings.probe.enabled = false
        _ = try LoadedSecrets(for: settings, try Options([]), bound: ports)
        settings.server.listen = try places("0.0.0.0:53")
        #expect(throws: UnusableSettings.self) {
            try LoadedSecrets(for: settings, try Options([]), bound: ports)
        }
    }

    @Test("what is wider than any network of one's own is the Internet's, if others reach it")
    func openResolver() throws {
        for (prefix, isOpen) in [
            ("0.0.0.0/0", true), ("::/0", true), ("0.0.0.0/1", true), ("10.0.0.0/8", false), ("fc00::/7", false),
            ("2000::/3", true), ("192.168.0.0/16", false),
        ] {
            let allow = (OpenResolverCheckTests.ownAlone + [prefix]).compactMap { Prefix($0) }
            #expect(
                OpenResolverCheck.isOpenResolver(listen: try listen(["10.0.0.1:53"]), allow: allow) == isOpen,
                "\(prefix)")
            #expect(!OpenResolverCheck.isOpenResolver(listen: try listen(["127.0.0.1:53"]), allow: allow))
        }
    }

    @Test("the check and the start refuse it, from the settings and from the command line")
    func provisions() throws {
        var settings = Settings.defaults
        _ = try LoadedSecrets(for: settings, try Options([]))
        #expect(throws: UnusableSettings.self) {
            _ = try LoadedSecrets(for: settings, try Options(["--listen", "0.0.0.0:5300"]))
        }
        settings.server.listen = try places("192.0.2.1:53")
        #expect(throws: UnusableSettings.self) { _ = try LoadedSecrets(for: settings, try Options([])) }
        _ = try LoadedSecrets(for: settings, try Options(["--listen", "127.0.0.1:5300"]))
        settings.server.allow += [try #require(Prefix("192.0.2.0/24"))]
        _ = try LoadedSecrets(for: settings, try Options([]))
    }
}
