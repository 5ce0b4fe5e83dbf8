// JSON of unknown shape: replies of vendors that differ between versions, and the target of a template's paths.

import DNSWire

enum JSONValue: Codable, Equatable, Sendable {
    case text(String)
    case integer(Int)
    case boolean(Bool)
    case array([JSONValue])
    case object([String: JSONValue])
    /// Null and non-integer numbers, which no code uses.
    case other

    /// Maximum number of parts, which exceeds legitimate replies for twenty names. Each wrong guess of a part's kind
    /// costs the decoder about 10 us, so this number takes about 10 ms.
    private static let maxParts = 1024

    static func decode(_ body: [UInt8]) throws(DialectError) -> JSONValue {
        try JSONBody.decode(JSONValue.self, from: body, maxParts: maxParts)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self =
            if container.decodeNil() {
                .other
            } else if let text = try? container.decode(String.self) {
                .text(text)
            } else if let number = try? container.decode(Int.self) {
                .integer(number)
            } else if let elements = try? container.decode([JSONValue].self) {
                .array(elements)
            } else if let members = try? container.decode([String: JSONValue].self) {
                .object(members)
            } else if let boolean = try? container.decode(Bool.self) {
                .boolean(boolean)
            } else {
                .other
            }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .integer(let number): try container.encode(number)
        case .boolean(let boolean): try container.encode(boolean)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        case .other: try container.encodeNil()
        }
    }

    // MARK: reading

    subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// The member with this name as its key, in any letter case and with or without a final dot.
    subscript(name: Name) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.keys.sorted().first { Name($0) == name }.flatMap { members[$0] }
    }

    var elements: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The value as text; nil for arrays, objects and null.
    var scalarText: String? {
        switch self {
        case .text(let text): text
        case .integer(let number): String(number)
        case .boolean(let boolean): String(boolean)
        case .array, .object, .other: nil
        }
    }

    func isName(_ name: Name) -> Bool {
        guard case .text(let text) = self else { return false }
        return Name(text) == name
    }
}

/// Converts a JSON array of addresses and its TTL to an answer. An empty array may also mean "not my name", so it
/// never becomes NXDOMAIN.
enum JSONAddresses {
    /// - Parameter isShared: true if one array has both families. In that case a family without addresses is empty.
    ///   Otherwise only an array without elements is empty.
    static func answer(
        to question: Question, in elements: [JSONValue], ttl: JSONValue?, isShared: Bool
    ) throws(DialectError) -> Answer {
        let list = AddressList(texts: elements.map { $0.scalarText ?? "" }, ttl: LenientTTL(seconds(ttl)))
        let families = list.texts.compactMap { Address($0)?.recordType }
        if isShared, !families.isEmpty, !families.contains(question.type) {
            return Answer(negative: .ambiguousEmpty, ttlSeconds: list.ttlSeconds)
        }
        return try list.answer(to: question)
    }

    /// Server side: returns the array for a family.
    static func json(_ answer: Answer?, _ type: RecordType) -> JSONValue {
        .array((answer?.addressTexts(of: type) ?? []).map(JSONValue.text))
    }

    static func json(ttlOf answer: Answer?) -> JSONValue {
        .integer(Int(answer?.ttlSeconds ?? DialectBounds.defaultTTLSeconds))
    }

    static func reply(_ body: JSONValue, status: Int = 200) -> HTTPReply {
        HTTPReply(
            status: status, headers: HTTPHeaders([.init("Content-Type", "application/json")]),
            body: JSONBody.encode(body))
    }

    /// Returns a TTL that is a number or a string of digits, since servers differ.
    private static func seconds(_ ttl: JSONValue?) -> Int? {
        switch ttl {
        case .integer(let number)?: number
        case .text(let text)?: Int(text)
        case nil, .other?, .boolean?, .array?, .object?: nil
        }
    }
}
