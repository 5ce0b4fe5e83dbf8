// Every dialect of the settings has code, the service nodes of its row, a server in the lab, and an entry in
// `Dialects`.

import DNSWire
import HTTPDNS
import Settings
import Testing

struct ProviderDialectsTests {
    private func provider(_ dialect: Settings.Provider.Dialect) throws -> Settings.Provider {
        let values: [Settings.Provider.Dialect.Key: String] = [
            .account: "account = \"1\"", .keyFile: "key-file = \"/k\"",
            .template: "[provider.template]\nquery = \"n={name}\"\nv4 = \"ip\"",
        ]
        let needs = dialect.facts.needs.sorted { $0.rawValue < $1.rawValue }
        let path = Dialects.entry(named: dialect.rawValue)?.path ?? ""
        let text = """
            [[provider]]
            name = "x"
            dialect = "\(dialect.rawValue)"
            url = "https://192.0.2.1\(path.isEmpty ? "/" : path)"
            \(try needs.map { try #require(values[$0]) }.joined(separator: "\n"))
            """
        return try #require(try Settings.parse(bytes: Array(text.utf8), file: "settings").providers.first)
    }

    @Test("every dialect has its code and its nodes", arguments: Settings.Provider.Dialect.allCases)
    func code(_ name: Settings.Provider.Dialect) throws {
        let provider = try provider(name)
        let dialect = try name.type.init(provider, key: "00", cipherKey: nil)
        #expect((dialect.nodeListing(provider) != nil) == name.facts.takes.contains(.serviceNodes))
        // Entries for templates have the names of vendors.
        guard name != .template else { return }
        let entry = try #require(Dialects.entry(named: name.rawValue), "it has no entry in Dialects")
        let request = try dialect.request(for: try question("www.example"))
        let inLab = try #require(request.labDialect(at: URLQuery.path(of: request.url)), "the lab does not know it")
        #expect(ObjectIdentifier(type(of: inLab)) == ObjectIdentifier(name.type))
        #expect(ObjectIdentifier(type(of: entry.make("/"))) == ObjectIdentifier(name.type))
    }
}
