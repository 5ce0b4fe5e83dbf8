// httpdnsd.toml(5), compared with the settings: its keys, their defaults, their ranges, and the ones that need a
// restart. The tests ask the program for all of it, so that no key changes without the page.

import TestSupport
import Testing

@testable import Settings

@Suite("The manual of the settings")
struct SettingsPageTests {
    private let page: ManualPage

    init() throws { page = try ManualPage("httpdnsd.toml.5") }

    /// The smallest file, so that all other keys have their defaults.
    private static let leastFile = """
        [[provider]]
        name = "x"
        dialect = "template"
        url = "https://192.0.2.1/"
        addresses = ["192.0.2.1"]
        [provider.template]
        query = "q"
        v4 = "p"
        [fleet]
        server = "unix:/s"
        site = "a"
        key-file = "/k"
        [[notify]]
        url = "https://192.0.2.1/"
        addresses = ["192.0.2.1"]
        [[nameserver]]
        name = "n"
        servers = ["192.0.2.1:53"]
        [[rule]]
        match = ["x.example"]
        stale = false
        """

    /// The keys by table, in the order of the file; the first table has no header.
    private static let tables: [(header: String, keys: [String])] = [
        ("", Settings.keys.map(\.name)),
        ("[server]", Settings.Server.keys.map(\.name)),
        ("[[provider]]", Settings.Provider.keys.map(\.name)),
        ("[provider.template]", Settings.Provider.Template.keys.map(\.name)),
        ("[system-resolver]", Settings.SystemResolver.keys.map(\.name)),
        ("[cache]", Settings.Cache.keys.map(\.name)),
        ("[prefetch]", Settings.Prefetch.keys.map(\.name)),
        ("[stale]", Settings.Stale.keys.map(\.name)),
        ("[probe]", Settings.Probe.keys.map(\.name)),
        ("[network]", Settings.Network.keys.map(\.name)),
        ("[fleet]", Settings.Fleet.keys.map(\.name)),
        ("[control]", Settings.Control.keys.map(\.name)),
        ("[log]", Settings.Log.keys.map(\.name)),
        ("[[notify]]", Settings.Receiver.keys.map(\.name)),
        ("[[nameserver]]", Settings.Nameserver.keys.map(\.name)),
        ("[[view]]", Settings.View.keys.map(\.name)),
        ("[[rule]]", Settings.Rule.keys.map(\.name)),
    ]

    @Test("each dialect is in httpdnsd-providers(7), each service of setup in httpdnsctl(1) and the completions")
    func dialects() throws {
        let lines = try ManualPage("httpdnsd-providers.7").lines
        let top = TestFile.folder(of: TestFile.folder(of: TestFile.folder(of: #filePath)))
        let completions = try ["httpdnsctl.bash", "_httpdnsctl"].map { name in
            String(decoding: try TestFile.bytes(at: "\(top)/etc/completion/\(name)"), as: UTF8.self)
        }
        let account = try ManualPage("httpdnsctl.1").entries.first { $0.tag.hasPrefix("--account ") }?.text
        let lists = try completions + [#require(account)]
        for (dialect, facts) in Settings.Provider.Dialect.rows {
            let row = try #require(lines.first { $0.hasPrefix("\(dialect.rawValue)|") }, "\(dialect)")
            #expect(facts.needs.allSatisfy { row.contains($0.rawValue) }, "\(dialect)")
            guard let service = facts.service else { continue }
            #expect(lists.allSatisfy { $0.contains(service.name ?? dialect.rawValue) }, "\(dialect)")
        }
    }

    @Test("each preset is in httpdnsd-providers(7) with its URL, and in the completions")
    func presets() throws {
        let page = try ManualPage("httpdnsd-providers.7").lines
        let top = TestFile.folder(of: TestFile.folder(of: TestFile.folder(of: #filePath)))
        let completions = try ["httpdnsctl.bash", "_httpdnsctl"].map { name in
            String(decoding: try TestFile.bytes(at: "\(top)/etc/completion/\(name)"), as: UTF8.self)
        }
        for preset in Settings.Provider.Preset.all {
            let choice = preset.needsID ? "\(preset.name):ID" : preset.name
            #expect(page.contains { $0.hasPrefix("\(choice)|\(preset.company), \(preset.country)|") }, "\(preset.name)")
            let url = "\(preset.name)|\(preset.provider(id: preset.needsID ? "ID" : "").url)"
            #expect(page.contains(url), "\(url)")
            #expect(completions.allSatisfy { $0.contains(" \(preset.name) ") || $0.contains("\"\(preset.name) ") })
        }
    }

    private func entries(of header: String) -> [ManualPage.Entry] {
        let section = header.isEmpty ? "At the top of the file" : header
        return page.entries.filter { $0.section == section }
    }

    private static func read(_ text: String) throws -> Settings {
        try Settings.parse(bytes: Array(text.utf8), file: "file")
    }

    @Test("the tables are all that there are")
    func tables() {
        let headers = SettingsPageTests.tables.map { $0.header.filter { $0 != "[" && $0 != "]" } }
        #expect(headers.filter { !$0.isEmpty && $0 != "provider.template" } == Settings.rows.map(\.name))
    }

    @Test("every key is there with its default as --print-effective writes it, in its order, and no other key is")
    func keysAndDefaults() throws {
        let given = Set(SettingsPageTests.leastFile.split(separator: "\n"))
        let lines = try SettingsPageTests.read(SettingsPageTests.leastFile).effectiveTOML
            .split(separator: "\n").filter { $0.hasPrefix("[") || !given.contains($0) }
        for (header, keys) in SettingsPageTests.tables {
            let rest = header.isEmpty ? lines[...] : lines.drop { $0 != header }.dropFirst()
            let written = rest.prefix { !$0.hasPrefix("[") }
            let tags = keys.map { key in written.first { $0.hasPrefix("\(key) = ") }.map(String.init) ?? key }
            #expect(entries(of: header).map(\.tag) == tags, "\(header)")
        }
    }

    @Test("what a key may be stands there as the complaint about a wrong value says it")
    func allowed() throws {
        for (header, keys) in SettingsPageTests.tables {
            for (key, entry) in zip(keys, entries(of: header)) {
                // No key takes a date.
                let complaint = SettingsPageTests.complaint(about: "1979-05-27", key, header)
                let found = try #require(complaint?.firstRange(of: "allowed: "), "\(header) \(key)")
                let allowed = complaint.map { String($0[found.upperBound...]) } ?? ""
                let mayBeUnset = SettingsPageTests.complaint(about: "\"\"", key, header) == nil
                let says = mayBeUnset && !allowed.hasPrefix("0 to ") ? "\(allowed), or \"\"" : allowed
                #expect(entry.text.contains("Allowed: \(says)."), "\(header) \(key): \(says)")
            }
        }
    }

    /// The complaint about the value; nil if it is valid.
    private static func complaint(about value: String, _ key: String, _ header: String) -> String? {
        let file = (header == "[provider.template]" ? "[[provider]]\n" : "") + "\(header)\n\(key) = \(value)\n"
        do throws(SettingsError) {
            _ = try Settings.parse(bytes: Array(file.utf8), file: "file")
            return nil
        } catch {
            return error.complaints.map(\.text).first { $0.contains("\(key): found ") && $0.contains("allowed: ") }
        }
    }

    /// A value other than the default for each key, except those of providers, receivers, nameservers and rules, which
    /// SIGHUP changes.
    private static let otherValues: [String: String] = [
        "only-listed": "true", "direct-only": "true", "local-zone": "\"lan\"",
        "hosts-directory": "\"/h\"", "lease-files": "\"/l\"", "blocked-answer": "\"nodata\"",
        "[server] listen": "[\"127.0.0.1:1\"]", "[server] threads": "1", "[server] allow": "[\"::/0\"]",
        "[server] client-rate": "\"off\"", "[server] prefix-rate": "\"1/s\"",
        "[server] user": "\"x\"", "[server] filter-aaaa": "\"no-route\"", "[server] dns64": "\"auto\"",
        "[system-resolver] servers": "[\"192.0.2.1\"]", "[system-resolver] resolv-conf": "\"/r\"",
        "[system-resolver] stands-in": "\"never\"",
        "[system-resolver] order": "\"system-first\"",
        "[system-resolver] patience": "\"1s\"",
        "[system-resolver] compare": "\"all\"",
        "[cache] size": "\"1MiB\"", "[cache] min-ttl": "\"1s\"", "[cache] max-ttl": "\"1h\"",
        "[cache] negative-max-ttl": "\"1s\"", "[cache] store": "\"\"",
        "[prefetch] enabled": "false", "[prefetch] names": "[\"x.example\"]",
        "[prefetch] keep": "[\"x.example\"]",
        "[stale] max-age": "\"1h\"", "[stale] answer-ttl": "\"1s\"", "[stale] client-timeout": "\"1s\"",
        "[stale] recheck": "\"1s\"", "[stale] last-known-good": "\"1m\"",
        "[probe] enabled": "false", "[probe] ports": "[853]", "[probe] timeout": "\"1s\"",
        "[probe] ca-file": "\"/c\"", "[probe] http": "true",
        "[network] watch": "false",
        "[fleet] server": "\"unix:/s\"\nsite = \"a\"\nkey-file = \"/k\"",
        "[fleet] site": "\"a\"\nserver = \"unix:/s\"\nkey-file = \"/k\"",
        "[fleet] key-file": "\"/k\"\nserver = \"unix:/s\"\nsite = \"a\"",
        "[fleet] user": "\"u\"\npassword-file = \"/p\"\nserver = \"unix:/s\"\nsite = \"a\"\nkey-file = \"/k\"",
        "[fleet] password-file": "\"/p\"\nserver = \"unix:/s\"\nsite = \"a\"\nkey-file = \"/k\"",
        "[fleet] read-timeout": "\"7ms\"\nserver = \"unix:/s\"\nsite = \"a\"\nkey-file = \"/k\"",
        "[fleet] share": "[\"answers\"]\nserver = \"unix:/s\"\nsite = \"a\"\nkey-file = \"/k\"",
        "[control] socket": "\"\"", "[control] metrics-listen": "\"127.0.0.1:9353\"",
        "[control] nftset-socket": "\"/s\"",
        "[log] level": "\"debug\"", "[log] format": "\"json\"", "[log] queries": "true", "[log] clients": "true",
        "[log] recorder": "\"off\"", "[log] recorder-directory": "\"\"",
    ]

    @Test("the keys that need a restart are those that say so")
    func restart() throws {
        for (header, keys) in SettingsPageTests.tables {
            for (key, entry) in zip(keys, entries(of: header)) {
                let isSaid = entry.text.contains("Needs a restart.")
                guard !header.hasPrefix("[["), header != "[provider.template]" else {
                    #expect(!isSaid, "\(header) \(key)")
                    continue
                }
                let name = header.isEmpty ? key : "\(header) \(key)"
                let value = try #require(SettingsPageTests.otherValues[name], "\(name)")
                let settings = try SettingsPageTests.read("\(header)\n\(key) = \(value)\n")
                #expect(settings != .defaults, "\(name)")
                #expect(isSaid == !settings.changesNeedingRestart(from: .defaults).isEmpty, "\(name)")
            }
        }
    }
}
