// Decodes values from JSON: Swift's `Decoder` over a document.

extension Decodable {
    /// Decodes a value. Members that `Self` does not know are ignored.
    ///
    /// - Throws: `DecodingError`, if the document has another form.
    package init(decoding document: JSONValue) throws {
        try self.init(from: JSONDecoding(document, at: .root))
    }
}

/// The place of a value in its document. Most documents are decoded without an error, so that it becomes an array only
/// for one.
private indirect enum JSONPlace {
    case root
    case inside(JSONPlace, any CodingKey)

    var path: [any CodingKey] {
        switch self {
        case .root: []
        case .inside(let outer, let key): outer.path + [key]
        }
    }
}

private struct ElementKey: CodingKey {
    let index: Int

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { index = intValue }
    init?(stringValue: String) { nil }

    var intValue: Int? { index }
    var stringValue: String { "\(index)" }
}

private struct JSONDecoding: Decoder {
    let value: JSONValue
    let place: JSONPlace

    init(_ value: JSONValue, at place: JSONPlace) { (self.value, self.place) = (value, place) }

    var codingPath: [any CodingKey] { place.path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let object) = value else { throw mismatch([String: JSONValue].self) }
        return KeyedDecodingContainer(DecodedMembers(object, at: place))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([JSONValue].self) }
        return DecodedElements(elements, at: place)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    fileprivate func mismatch(_ type: any Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "")
        return value == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    fileprivate var unreadable: DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: ""))
    }
}

extension JSONDecoding: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .boolean(let boolean) = value else { throw mismatch(type) }
        return boolean
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .text(let text) = value else { throw mismatch(type) }
        return text
    }

    func decode(_ type: Double.Type) throws -> Double {
        switch value {
        case .integer(let integer): return Double(integer)
        case .number(let number) where number.isFinite: return number
        case .number: throw unreadable
        default: throw mismatch(type)
        }
    }

    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }

    /// An integer that was written with a fraction or an exponent counts: 1.0.
    func decode<Value: Decodable & FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        switch value {
        case .integer(let integer):
            if let value = Value(exactly: integer) { return value }
        case .number(let number):
            if let value = Value(exactly: number) { return value }
        default: throw mismatch(type)
        }
        throw unreadable
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try Value(from: self)
    }
}

private struct DecodedMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let members: [String: JSONValue]
    private let place: JSONPlace

    init(_ object: JSONObject, at place: JSONPlace) { (members, self.place) = (object.byName, place) }

    var codingPath: [any CodingKey] { place.path }
    var allKeys: [Key] { members.keys.compactMap(Key.init) }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try decoding(key).value == .null }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoding(key).decode(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoding(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoding(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder {
        JSONDecoding(.object(JSONObject(members.map { ($0.key, $0.value) })), at: place)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try decoding(key) }

    private func decoding(_ key: Key) throws -> JSONDecoding {
        guard let value = members[key.stringValue] else {
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: ""))
        }
        return JSONDecoding(value, at: .inside(place, key))
    }
}

private struct DecodedElements: UnkeyedDecodingContainer {
    private let elements: [JSONValue]
    private let place: JSONPlace
    private(set) var currentIndex = 0

    init(_ elements: [JSONValue], at place: JSONPlace) { (self.elements, self.place) = (elements, place) }

    var codingPath: [any CodingKey] { place.path }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    mutating func decodeNil() throws -> Bool {
        guard try next().value == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try next().decode(type)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let container = try next().container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try next().unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try next()
        currentIndex += 1
        return decoder
    }

    private func next() throws -> JSONDecoding {
        let inside = JSONPlace.inside(place, ElementKey(currentIndex))
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(JSONValue.self, .init(codingPath: inside.path, debugDescription: ""))
        }
        return JSONDecoding(elements[currentIndex], at: inside)
    }
}
