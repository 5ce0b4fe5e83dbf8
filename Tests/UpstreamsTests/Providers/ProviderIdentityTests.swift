// Providers of two machines that give the same answers in the same way, so that a fleet shares them.

import DNSWire
import Settings
import TestSupport
import Testing

@testable import Upstreams

@Suite struct ProviderIdentityTests {
    private static let files = [
        "a.pem": "certificates", "same.pem": "certificates", "other.pem": "others",
    ]

    private static let base = """
        name = "p"
        dialect = "doh"
        url = "https://dns.example/dns-query"
        addresses = ["192.0.2.1", "192.0.2.2"]
        ca-file = "FOLDER/a.pem"

        """

    private static let json = """
        name = "p"
        dialect = "json"
        url = "http://192.0.2.1:8443/resolve"

        """

    private static let paid = """
        name = "p"
        dialect = "alicloud-v2"
        url = "https://203.0.113.9/"
        addresses = ["203.0.113.9"]
        account = "100"
        key-file = "/k"

        """

    private func account(_ text: String, _ folder: TemporaryFolder) throws -> ProviderAccount {
        for (name, content) in Self.files { folder.write(Array(content.utf8), to: folder(name)) }
        let file = "[[provider]]\n" + text.replacing("FOLDER", with: folder.path)
        let settings = try Settings.parse(bytes: Array(file.utf8), file: "test").providers[0]
        return try ProviderAccount(
            settings, ProviderSecrets(key: Secret("0123456789abcdef0123456789abcdef")))
    }

    @Test(
        "what changes answers or the way makes another provider",
        arguments: [
            (base, "https://dns.example/", "https://dns2.example/"), (base, "/dns-query", "/other"),
            (base, "dns.example/", "dns.example:8443/"), (json, "http", "https"),
            (base, #", "192.0.2.2""#, ""), (base, "192.0.2.2", "192.0.2.3"), (base, "a.pem", "other.pem"),
            (base, #"ca-file = "FOLDER/a.pem""#, ""), (base, #"ca-file = "FOLDER/a.pem""#, #"sni = "x.example""#),
            (base, "ca-file", "verify-name = \"x.example\"\nca-file"),
            (base, "ca-file", "sni = \"x.example\"\nca-file"),
            (base, "ca-file", "host = \"x.example\"\nca-file"), (base, "ca-file", "method = \"POST\"\nca-file"),
            (base, "ca-file", "trust-ad = true\nca-file"),
            (base, "ca-file", "proxy = \"http://192.0.2.9:3128\"\nca-file"),
            (base, "ca-file", "proxy = \"socks5h://192.0.2.9:3128\"\nca-file"),
            (base, #""doh""#, #""json""#), (paid, "100", "101"), (paid, #""alicloud-v2""#, #""alicloud""#),
            (paid, "key-file", "region = \"hk\"\nkey-file"), (paid, "key-file", "service-nodes = false\nkey-file"),
        ] as [(String, String, String)])
    func differs(text: String, part: String, other: String) throws {
        let folder = TemporaryFolder()
        let (one, changed) = (try account(text, folder), try account(text.replacing(part, with: other), folder))
        #expect(one.identity != changed.identity)
    }

    @Test("the users of a proxy may leave it by other ways")
    func proxyUsers() throws {
        let folder = TemporaryFolder()
        let identities = try ["", "a@", "b@"].map { user in
            let key = user.isEmpty ? "" : "proxy-key-file = \"/k\"\n"
            return try account(Self.base + "proxy = \"http://\(user)192.0.2.9:3128\"\n" + key, folder).identity
        }
        #expect(Set(identities).count == 3)
    }

    @Test(
        "what only chooses questions, or bounds them, makes no other one",
        arguments: [
            (base, #"name = "p""#, #"name = "q""#), (base, "a.pem", "same.pem"),
            (base, #""192.0.2.1", "192.0.2.2""#, #""192.0.2.2", "192.0.2.1""#),
            (base, "ca-file", "budget = \"10/s\"\nca-file"), (base, "ca-file", "timeout = \"2s\"\nca-file"),
            (base, "ca-file", "idle = \"20s\"\nca-file"), (base, "ca-file", "quota = \"10/day\"\nca-file"),
            (base, "ca-file", "hedge = false\nca-file"), (base, "ca-file", "names = [\"a.example\"]\nca-file"),
            (base, "ca-file", "connection-requests = 9\nca-file"), (paid, #""/k""#, #""/new""#),
        ] as [(String, String, String)])
    func same(text: String, part: String, other: String) throws {
        let folder = TemporaryFolder()
        let (one, changed) = (try account(text, folder), try account(text.replacing(part, with: other), folder))
        #expect(one.identity == changed.identity)
        #expect(one.settings.accountIdentity == changed.settings.accountIdentity)
    }
}
