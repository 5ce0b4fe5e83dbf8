// The account of a name.

import DNSWire
import Testing

@testable import Resolver

@Suite("Names of accounts")
struct AccountTableTests {
    private func scopes(_ texts: [String]) throws -> [QuestionScope] {
        try texts.map { text in
            let isExact = text.hasPrefix("=")
            let name = try #require(Name(isExact ? String(text.dropFirst()) : text))
            return QuestionScope(name, includesDescendants: !isExact)
        }
    }

    private func table(_ accounts: (names: [String], isExclusive: Bool)...) throws -> AccountTable {
        AccountTable(
            try accounts.enumerated().map { number, account in
                AccountNames(ProviderID(number), try scopes(account.names), isExclusive: account.isExclusive)
            })
    }

    private func owners(_ table: AccountTable, _ name: String) throws -> [Int]? {
        let name = try #require(Name(name))
        return table.match(for: name)?.owners.map(\.number)
    }

    @Test("the longest match decides, whole labels only, and an exact name precedes its tree")
    func longest() throws {
        let table = try table(
            (["example.com", "=api.example.com"], false), (["api.example.com", "b.example.com"], false))
        for (name, expected) in [
            ("example.com", [0]), ("EXAMPLE.com", [0]), ("www.example.com", [0]), ("api.example.com", [0]),
            ("x.api.example.com", [1]), ("a.b.example.com", [1]), ("notexample.com", nil), ("com", nil), (".", nil),
            ("example.com.evil.net", nil),
        ] as [(String, [Int]?)] {
            #expect(try owners(table, name) == expected, "\(name)")
        }
    }

    @Test("a name of two accounts belongs to both, or to the exclusive one, whichever is listed first")
    func two() throws {
        let both = try table((["a.example", "a.example"], false), (["a.example"], false))
        #expect(try owners(both, "a.example") == [0, 1])
        for table in [
            try table((["a.example"], false), (["a.example"], true)),
            try table((["a.example"], true), (["a.example"], false)),
        ] {
            let name = try #require(Name("a.example"))
            let match = try #require(table.match(for: name))
            #expect(match.owners.count == 1 && match.isExclusive)
        }
    }

    @Test("policies differ in the names whose owners do")
    func differing() throws {
        let (old, new) = (
            try table((["a.example", "b.example"], false)), try table((["a.example", "=b.example"], false))
        )
        #expect(Set(old.scopesDiffering(from: new)) == Set(try scopes(["b.example", "=b.example"])))
        #expect(old.scopesDiffering(from: old).isEmpty)
    }
}
