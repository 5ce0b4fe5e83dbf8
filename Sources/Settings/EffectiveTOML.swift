// Writes the settings in force as a settings file that parses to the same values.

extension Settings {
    package var effectiveTOML: String {
        ([Settings.lines(Settings.keys, self)] + Settings.rows.flatMap { $0.write(self) }).joined(separator: "\n")
    }

    static func section<Section: KeyedTable>(_ header: String, _ values: Section) -> String {
        "\(header)\n" + lines(Section.keys, values)
    }

    fileprivate static func lines<Section>(_ keys: [Key<Section>], _ values: Section) -> String {
        keys.compactMap { key in key.write(values).map { "\(key.name) = \($0)\n" } }.joined()
    }
}

extension Settings.Provider {
    /// The provider's tables in the written file.
    var section: String {
        let keys = Settings.Provider.keys.filter { key in
            Dialect.Key(rawValue: key.name).map { dialect.accepts($0) } ?? true
        }
        let tables =
            ["[[provider]]\n" + Settings.lines(keys, self)]
            + (template.map { [Settings.section("[provider.template]", $0)] } ?? [])
        return tables.joined(separator: "\n")
    }
}
