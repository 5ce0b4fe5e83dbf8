// A JSON document as a value (RFC 8259).

package enum JSONValue: Equatable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int)
    /// A number that is no `Int`. Infinite if it is beyond `Double`.
    case number(Double)
    case text(String)
    case array([JSONValue])
    case object(JSONObject)

    package subscript(key: String) -> JSONValue? {
        guard case .object(let object) = self else { return nil }
        return object[key]
    }

    package var elements: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }
}

/// The members of an object in their order. If members have the same name, the first counts (RFC 8259 section 4 leaves
/// it open).
package struct JSONObject: Sendable {
    package typealias Member = (name: String, value: JSONValue)

    // An array, since objects of replies have few members, and a dictionary hashes each name.
    package private(set) var members: [Member]

    package init(_ members: [Member] = []) { self.members = members }

    package subscript(name: String) -> JSONValue? {
        get { members.first { $0.name == name }?.value }
        set {
            if let index = members.firstIndex(where: { $0.name == name }) { members.remove(at: index) }
            if let newValue { members.append((name, newValue)) }
        }
    }

    /// The members by name, for an object with many.
    package var byName: [String: JSONValue] {
        Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
    }
}

extension JSONObject: Equatable {
    package static func == (left: JSONObject, right: JSONObject) -> Bool { left.byName == right.byName }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral members: (String, JSONValue)...) { self.init(members) }
}
