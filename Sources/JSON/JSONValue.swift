// A JSON document as a value (RFC 8259).

package enum JSONValue: Equatable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int)
    /// A number that is no `Int`. Infinite if it is beyond `Double`.
    case number(Double)
    case text(String)
    case array([JSONValue])
    /// If members have the same name, the first counts (RFC 8259 section 4 leaves it open).
    case object([String: JSONValue])

    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    package var elements: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }
}
