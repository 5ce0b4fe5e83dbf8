// Encodes values as JSON: Swift's `Encoder` that makes a document.

extension Encodable {
    /// The value as a document. A `Double` that is infinite or no number becomes text: the rest of a report is still of
    /// use.
    ///
    /// - Throws: what the value's own `encode` throws; `EncodingError` for an integer beyond `Int`.
    package func encoded() throws -> JSONValue {
        let encoding = JSONEncoding(at: [])
        try encode(to: encoding)
        return encoding.document
    }
}

/// A value of the document under construction. Containers of Swift's `Encoder` are filled in any order, so they share
/// it.
private final class JSONEncoding: Encoder {
    private enum Content {
        case nothing
        case value(JSONValue)
        case array([JSONEncoding])
        case object([String: JSONEncoding])
    }

    private var content = Content.nothing
    let codingPath: [any CodingKey]

    init(at codingPath: [any CodingKey]) { self.codingPath = codingPath }

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// A value that encodes nothing is an empty object.
    var document: JSONValue {
        switch content {
        case .nothing: .object([:])
        case .value(let value): value
        case .array(let elements): .array(elements.map(\.document))
        case .object(let members): .object(JSONObject(members.map { ($0.key, $0.value.document) }))
        }
    }

    var elementCount: Int {
        if case .array(let elements) = content { elements.count } else { 0 }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .nothing = content { content = .object([:]) }
        return KeyedEncodingContainer(EncodedMembers(self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .nothing = content { content = .array([]) }
        return EncodedElements(self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func member(_ key: any CodingKey) -> JSONEncoding {
        guard case .object(var members) = content else { preconditionFailure("the container has no members") }
        let member = JSONEncoding(at: codingPath + [key])
        content = .nothing
        members[key.stringValue] = member
        content = .object(members)
        return member
    }

    func element() -> JSONEncoding {
        guard case .array(var elements) = content else { preconditionFailure("the container has no elements") }
        let element = JSONEncoding(at: codingPath)
        content = .nothing
        elements.append(element)
        content = .array(elements)
        return element
    }
}

extension JSONEncoding: SingleValueEncodingContainer {
    func encodeNil() { content = .value(.null) }
    func encode(_ value: Bool) { content = .value(.boolean(value)) }
    func encode(_ value: String) { content = .value(.text(value)) }

    /// Encodes the shortest decimal number that is this `Float`.
    func encode(_ value: Float) { encode(Double("\(value)") ?? Double(value)) }

    func encode(_ value: Double) {
        if value.isFinite {
            content = .value(.number(value))
        } else {
            content = .value(.text(value.isNaN ? "none" : value < 0 ? "-infinite" : "infinite"))
        }
    }

    func encode<Value: Encodable & FixedWidthInteger>(_ value: Value) throws {
        guard let integer = Int(exactly: value) else {
            throw EncodingError.invalidValue(value, .init(codingPath: codingPath, debugDescription: "beyond Int"))
        }
        content = .value(.integer(integer))
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try value.encode(to: self)
    }
}

private struct EncodedMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let object: JSONEncoding

    init(_ object: JSONEncoding) { self.object = object }

    var codingPath: [any CodingKey] { object.codingPath }

    func encodeNil(forKey key: Key) { object.member(key).encodeNil() }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try object.member(key).encode(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        object.member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        object.member(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { object }

    func superEncoder(forKey key: Key) -> any Encoder { object.member(key) }
}

private struct EncodedElements: UnkeyedEncodingContainer {
    private let array: JSONEncoding

    init(_ array: JSONEncoding) { self.array = array }

    var codingPath: [any CodingKey] { array.codingPath }
    var count: Int { array.elementCount }

    func encodeNil() { array.element().encodeNil() }

    func encode<Value: Encodable>(_ value: Value) throws { try array.element().encode(value) }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        array.element().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { array.element().unkeyedContainer() }

    func superEncoder() -> any Encoder { array.element() }
}
