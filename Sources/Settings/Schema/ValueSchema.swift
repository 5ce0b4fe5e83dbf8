// The JSON Schema of a setting's value. Draft-07: the newest one that editors of TOML check by (Taplo).

import JSON

struct ValueSchema: Sendable {
    private(set) var members: JSONObject

    private init(_ members: JSONObject) { self.members = members }

    static var truth: ValueSchema { ValueSchema(["type": .text("boolean")]) }

    /// - Parameters:
    ///   - pattern: the regular expression (ECMA-262) of the whole text.
    ///   - maxBytes: the maximum size, which bounds the number of characters, too.
    ///   - others: texts that match the pattern and are refused.
    static func matching(_ pattern: String, maxBytes: Int? = nil, butNot others: [String] = []) -> ValueSchema {
        var schema = ValueSchema(["type": .text("string"), "pattern": .text("^(\(pattern))$")])
        schema.members["maxLength"] = maxBytes.map { .integer($0) }
        if !others.isEmpty { schema.members["not"] = .object(["enum": .array(others.map { .text($0) })]) }
        return schema
    }

    static func words(_ words: [String]) -> ValueSchema { ValueSchema(["enum": .array(words.map { .text($0) })]) }

    static func integer(_ range: ClosedRange<Int>) -> ValueSchema {
        ValueSchema([
            "type": .text("integer"), "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound),
        ])
    }

    static func number(_ range: ClosedRange<Double>) -> ValueSchema {
        ValueSchema([
            "type": .text("number"), "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound),
        ])
    }

    static func list(of element: ValueSchema, _ counts: ClosedRange<Int>, areDifferent: Bool = false) -> ValueSchema {
        var schema = ValueSchema([
            "type": .text("array"), "items": .object(element.members), "minItems": .integer(counts.lowerBound),
            "maxItems": .integer(counts.upperBound),
        ])
        if areDifferent { schema.members["uniqueItems"] = .boolean(true) }
        return schema
    }

    static func either(_ schemas: ValueSchema...) -> ValueSchema {
        ValueSchema(["anyOf": .array(schemas.map { .object($0.members) })])
    }

    /// A table that has these keys, some or all of them, and no others.
    static func table(_ keys: [(name: String, schema: ValueSchema)], required: [String] = []) -> ValueSchema {
        var schema = ValueSchema([
            "type": .text("object"), "additionalProperties": .boolean(false), "properties": properties(keys),
        ])
        guard !required.isEmpty else { return schema }
        // Editors offer the required keys of the table itself only.
        schema.members["required"] = .array(required.map { .text($0) })
        return schema.and([having(required)])
    }

    /// A table of texts, whose names match the pattern.
    static func texts(named names: ValueSchema, upTo most: Int, _ values: ValueSchema) -> ValueSchema {
        ValueSchema([
            "type": .text("object"), "maxProperties": .integer(most), "propertyNames": .object(names.members),
            "additionalProperties": .object(values.members),
        ])
    }

    /// A table with values of some keys that are not empty, and no values or empty ones of others.
    static func having(_ needed: [String], lacking others: [String] = []) -> ValueSchema {
        let filled = ValueSchema(["not": .object(empty.members)])
        var schema = ValueSchema(["properties": properties(needed.map { ($0, filled) } + others.map { ($0, empty) })])
        if !needed.isEmpty { schema.members["required"] = .array(needed.map { .text($0) }) }
        return schema
    }

    /// A table that is as `condition`, or whose key has another value or none.
    static func when(_ key: String, is value: String, _ condition: ValueSchema) -> ValueSchema {
        ValueSchema([
            "if": .object([
                "properties": .object([key: .object(["const": .text(value)])]), "required": .array([.text(key)]),
            ]),
            "then": .object(condition.members),
        ])
    }

    /// An empty value stands for a key that is not there, as in `TOMLNode.isEmpty`.
    private static var empty: ValueSchema {
        ValueSchema(["enum": .array([.text(""), .array([]), .object([:])])])
    }

    private static func properties(_ keys: [(name: String, schema: ValueSchema)]) -> JSONValue {
        .object(JSONObject(keys.map { ($0.name, .object($0.schema.members)) }))
    }

    /// Returns the schema with more conditions.
    func and(_ conditions: [ValueSchema]) -> ValueSchema {
        var narrower = self
        let all = (members["allOf"]?.elements ?? []) + conditions.map { .object($0.members) }
        narrower.members["allOf"] = .array(all)
        return narrower
    }

    /// Returns the schema of a table with one more key.
    func with(_ key: String, _ schema: ValueSchema) -> ValueSchema {
        guard case .object(var properties) = members["properties"] else { return self }
        properties[key] = .object(schema.members)
        var wider = self
        wider.members["properties"] = .object(properties)
        return wider
    }

    /// - Parameter value: the default; nil: none is shown.
    func described(_ description: String, default value: JSONValue? = nil) -> ValueSchema {
        var schema = self
        schema.members["description"] = .text(description)
        schema.members["default"] = value
        return schema
    }
}
