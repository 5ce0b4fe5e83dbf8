// The form of each row of the table of presets.

import DNSWire
import Settings
import Testing

@Suite("Presets of providers")
struct ProviderPresetTests {
    private static let presets = Settings.Provider.Preset.all

    @Test("each row is a valid provider with addresses of its own", arguments: 0..<presets.count)
    func rows(_ number: Int) throws {
        let preset = ProviderPresetTests.presets[number]
        let id = preset.needsID ? "abc123" : ""
        let provider = preset.provider(id: id)
        #expect(!preset.addresses.isEmpty && provider.addresses.map(\.description) == preset.addresses)
        #expect(provider.addresses.allSatisfy { !$0.isLoopback && !$0.isLinkLocal6 })
        #expect(provider.addresses.withoutRepetition == provider.addresses)
        #expect(provider.addresses.contains { !$0.isIPv6 })
        #expect(provider.url.isSecure && provider.url.description == "https://\(preset.host)\(preset.path)\(id)")
        #expect(preset.needsID == preset.path.hasSuffix("/") && preset.needsID == (preset.filtering == .profile))
        let file = """
            [[provider]]
            name = "\(preset.name)"
            dialect = "\(preset.dialect.rawValue)"
            url = "\(provider.url)"
            addresses = [\(preset.addresses.map { "\"\($0)\"" }.joined(separator: ", "))]
            filters = \(preset.blocks)

            """
        #expect(try Settings.parse(bytes: Array(file.utf8), file: "").providers == [provider])
    }

    @Test("each row has its source with a date, and who operates it and where")
    func sources() {
        for preset in ProviderPresetTests.presets {
            let parts = preset.source.split(separator: ", ").map(String.init)
            #expect(parts.count == 2 && parts[0].hasPrefix("github.com/"), "\(preset.name)")
            let digits = parts.last?.split(separator: "-").map(\.count)
            #expect(digits == [4, 2, 2] && parts.last?.hasPrefix("20") == true, "\(preset.name)")
            #expect(!preset.company.isEmpty && !preset.country.isEmpty, "\(preset.name)")
        }
    }

    @Test("names are unique, and no address belongs to two hosts")
    func unique() {
        let presets = ProviderPresetTests.presets
        #expect(Set(presets.map(\.name)).count == presets.count)
        let owners = Dictionary(grouping: presets.flatMap { row in row.addresses.map { ($0, row.host) } }, by: \.0)
        for (address, rows) in owners { #expect(Set(rows.map(\.1)).count == 1, "\(address)") }
    }

    @Test("the default providers are the first rows, and need no id")
    func defaults() {
        let defaults = ProviderPresetTests.presets.prefix { $0.isDefault }
        #expect(defaults.map(\.name) == ["alidns", "dnspod", "google", "cloudflare"])
        #expect(Settings.Provider.builtIn == defaults.map { $0.provider(id: "") })
        #expect(defaults.allSatisfy { !$0.needsID })
    }
}
