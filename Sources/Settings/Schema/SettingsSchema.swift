// The JSON Schema of the settings file, made of the tables of keys. It says all that concerns one value, the required
// keys, and the keys of each dialect. What concerns several tables only the daemon checks.

import JSON

extension Settings {
    /// The text that etc/httpdnsd.schema.json has.
    package static var schema: String {
        let defaults = Settings.defaults
        let tables = rows.map { ($0.name, $0.schema().described("\($0.header) in httpdnsd.toml(5)")) }
        var schema = ValueSchema.table(Settings.keys.map { ($0.name, $0.schema(defaults)) } + tables).members
        schema["$schema"] = .text("http://json-schema.org/draft-07/schema#")
        schema["title"] = .text("Settings of httpdnsd")
        schema["description"] = .text("httpdnsd.toml(5) explains each key.")
        return JSONValue.object(schema).indentedText
    }
}

extension KeyedTable {
    /// - Parameter defaults: the table with the default of each key; nil: a default depends on other keys.
    static func schema(_ defaults: Self? = nil) -> ValueSchema {
        .table(keys.map { ($0.name, $0.schema(defaults)) }, required: requiredKeys)
    }
}

extension Settings.Provider {
    /// The schema with the template, and the keys that each dialect needs and refuses.
    static var wholeSchema: ValueSchema {
        let dialects = Dialect.rows.map { dialect, facts in
            let needed = Dialect.Key.allCases.filter { facts.needs.contains($0) }.map(\.rawValue)
            let refused = Dialect.Key.allCases.filter { !facts.accepts($0) }.map(\.rawValue)
            return ValueSchema.when("dialect", is: dialect.rawValue, .having(needed, lacking: refused))
        }
        return schema().with(Dialect.Key.template.rawValue, Template.schema()).and(dialects)
    }
}

extension Key {
    /// - Parameter defaults: the table with the default of each key.
    func schema(_ defaults: Section?) -> ValueSchema {
        valueSchema().described("Allowed: \(allowed).", default: defaults.flatMap(write).flatMap(JSONValue.init(toml:)))
    }
}

extension JSONValue {
    /// Reads a value as the settings file has it.
    fileprivate init?(toml text: String) {
        let document = try? TOMLDocument(Array("value = \(text)".utf8)[...])
        guard let document, let node = document.root.member("value") else { return nil }
        self.init(node)
    }

    private init?(_ node: TOMLNode) {
        switch node.value {
        case .boolean(let value): self = .boolean(value)
        case .integer(let value): self = .integer(Int(value))
        case .float(let value): self = .number(value)
        case .string(let text): self = .text(text)
        case .array(let elements): self = .array(elements.compactMap { JSONValue($0) })
        case .table(let members):
            self = .object(JSONObject(members.compactMap { name, node in JSONValue(node).map { (name, $0) } }))
        case .dateOrTime: return nil
        }
    }
}
