// Receivers from the settings: their names in logs, and the endpoints that the daemon dials.

import HTTPClient
import Settings
import Testing

@testable import Daemon

@Suite("Receivers")
struct ReceiverAccountTests {
    private func accounts(_ text: String) throws -> [ReceiverAccount] {
        let settings = try Settings.parse(bytes: Array(text.utf8), file: "f")
        return try ReceiverAccount.all(in: settings, Options([]))
    }

    @Test("names have neither path nor query, and differ also if the origins are the same")
    func names() throws {
        let found = try accounts(
            """
            [[notify]]
            url = "https://Alerts.Example/a?token=1"
            addresses = ["192.0.2.1"]
            [[notify]]
            url = "https://[2001:db8::1]:8443/b"
            [[notify]]
            url = "https://alerts.example:443/c"
            addresses = ["192.0.2.1"]
            """)
        #expect(
            found.map(\.name) == [
                "https://alerts.example", "https://[2001:db8::1]:8443", "https://alerts.example#2",
            ])
        #expect(found.map(\.settings.url.target) == ["/a?token=1", "/b", "/c"])
    }

    @Test("every address is an endpoint with the name of the URL")
    func endpoints() throws {
        let account = try accounts(
            """
            [[notify]]
            url = "https://alerts.example:8443"
            addresses = ["192.0.2.1", "2001:db8::1"]
            ca-file = "/etc/ca.pem"
            """)[0]
        #expect(account.endpoints.map(\.address) == ["192.0.2.1", "2001:db8::1"])
        #expect(account.endpoints.allSatisfy { $0.host == "alerts.example" && $0.port == 8443 })
        #expect(account.endpoints.allSatisfy { $0.scheme == .https && $0.caFile == "/etc/ca.pem" })
        #expect(account.settings.url.target == "/" && account.key == nil)
    }
}
