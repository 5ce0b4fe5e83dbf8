// The former settings that `httpdnsctl setup --replace` keeps, and those that it names as left out.

import DNSWire
import Settings
import Testing

@testable import httpdnsctl

@Suite("The former settings of setup")
struct FormerSettingsTests {
    private func replaced(
        _ former: String, _ line: String = "--providers google --account no --lan 192.168.7.5 --take-over no"
    ) throws -> FormerSettings.Result {
        let result = try answers(line).settingsFile(replacing: FormerSettings(Array(former.utf8)))
        _ = try parsed(result.text)
        return result
    }

    private static let former = """
        # Names of this house.
        local-zone = ["home.arpa"]
        direct-only = false

        [server]
        listen = [
            "127.0.0.1:5300", # not [53]
            "192.168.7.5:53",
        ]
        allow = ["127.0.0.0/8", "192.168.7.0/24"]
        # Slow clients.
        client-rate = "50/s"
        threads = 0

        [[provider]]
        name = "own"
        url = "https://192.0.2.1/hunter2"
        dialect = "doh"

        [[nameserver]]
        name = "corp"
        servers = ["192.0.2.53"]
        names = ["corp.example"]

        [cache]
        size = "32MiB"
        [stale]
        max-age = "2h"

        # The children.
        # Until nine.
        [[view]]
        name = "children"
        clients = ["192.168.7.128/25"]

        [[rule]]
        match = ["a.example"]
        resolver = "corp"
        [[rule]]
        match = [
          "b.example",
          # [[rule]] is text here
        ]
        resolver = "own"
        """

    @Test("rules, nameservers, views and other tables stay, and the rest is named")
    func keeps() throws {
        let former = try parsed(Self.former)
        let result = try replaced(Self.former)
        let settings = try parsed(result.text)
        #expect(settings.providers.map(\.name) == ["google"])
        #expect(settings.server.clientRate == former.server.clientRate)
        #expect(settings.server.listen.count == 3 && settings.server.allow.count == 3)
        #expect(settings.nameservers == former.nameservers && settings.views.map(\.name) == ["children"])
        #expect(settings.rules.map(\.match) == [former.rules[0].match])
        #expect(settings.stale == former.stale && settings.localZones == former.localZones)
        #expect(result.text.contains("# The children.\n# Until nine.\n[[view]]\n"))
        #expect(result.text.contains("# Names of this house.\nlocal-zone = [\"home.arpa\"]\n"))
        #expect(result.text.contains("# Slow clients.\nclient-rate = \"50/s\"\n"))
        // Keys with their default values are not kept.
        for word in ["direct-only", "threads", "[cache]"] { #expect(!result.text.contains(word), "\(word)") }
        #expect(
            result.leftOut == [
                "lines 6 to 9: server.listen", "line 10: server.allow", "lines 15 to 18: table provider",
                "lines 39 to 44: table rule",
            ])
        #expect(!result.leftOut.map(\.english).joined().contains("hunter2"))
        // A repetition changes nothing.
        let again = try replaced(result.text)
        #expect(again.text == result.text && again.leftOut.isEmpty)
    }

    @Test("a file of defaults leaves nothing behind")
    func defaults() throws {
        let result = try replaced(Settings.defaults.effectiveTOML)
        #expect(
            try result.text
                == answers("--providers google --account no --lan 192.168.7.5 --take-over no").settingsFile().text)
        let asked = ["table provider", "server.listen", "server.allow"]
        #expect(
            result.leftOut.allSatisfy { line in asked.contains { line.english.hasSuffix($0) } }, "\(result.leftOut)")
    }

    @Test("only-listed stays if the operator has written it beside providers")
    func onlyListed() throws {
        let provider = "[[provider]]\nname = \"own\"\nurl = \"https://192.0.2.1/dns-query\"\ndialect = \"doh\"\n"
        #expect(try parsed(replaced("only-listed = true\n" + provider).text).onlyListed)
        // Setup itself wrote `only-listed`, for a machine without providers.
        let none = try replaced("", "--providers none --account no --lan no --take-over no").text
        let result = try replaced(none)
        #expect(try !parsed(result.text).onlyListed)
        #expect(
            result.leftOut.map { String($0.english.drop { $0 != ":" }) } == [
                ": only-listed", ": server.listen", ": server.allow",
            ])
        #expect(try replaced(none, "--providers none --account no --lan no --take-over no").leftOut.isEmpty)
    }

    @Test("other ways to write keys and tables")
    func forms() throws {
        let result = try replaced(
            """
            server.user = "bin"
            stale.max-age = "2h"
            cache = { size = "64MiB" }
            [ "log" ]\r
            level = "debug"\r

            """)
        let settings = try parsed(result.text)
        #expect(settings.cache.sizeBytes == 64 << 20 && settings.stale.maxAge == .seconds(7200))
        #expect(settings.log.level == .debug)
        #expect(result.leftOut == ["line 1: server"])
    }

    @Test("nothing is kept of a file that is not TOML, and keys that are wrong are named")
    func wrongFiles() throws {
        #expect(try replaced("a = \n[[\n").leftOut == ["all 2 lines: the file is not TOML"])
        #expect(
            try replaced("\n[log]\nlevel = \"loud\"\n[cache]\nsize = \"64MiB\"\n").leftOut == [
                "lines 2 to 3: table log"
            ])
        #expect(try replaced("").leftOut.isEmpty)
    }
}
