// The table of dialects.

import Settings
import Testing

@Suite("The table of dialects")
struct DialectTests {
    private typealias Dialect = Settings.Provider.Dialect

    @Test("every dialect has one row")
    func rows() {
        #expect(Dialect.rows.map(\.key.rawValue).sorted() == Dialect.allCases.map(\.rawValue).sorted())
        for (dialect, facts) in Dialect.rows { #expect(facts.needs.isDisjoint(with: facts.takes), "\(dialect)") }
    }
}
