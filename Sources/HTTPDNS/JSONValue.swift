// JSON whose shape is known at run time only: the replies of vendors that differ from version to version, and what a
// template's paths lead through.

import DNSWire

enum JSONValue: Codable, Equatable, Sendable {
    case text(String)
    case integer(Int)
    case boolean(Bool)
    case array([JSONValue])
    case object([String: JSONValue])
    /// Null, and numbers that are no integers: nothing is decided by them.
    case other

    /// More than an honest reply for fifty names has. Every wrong guess at an element's kind costs the decoder some ten
    /// microseconds, so that this many take some ten milliseconds.
    private static let maxCommas = 1024

    static func decode(_ body: [UInt8]) throws(DialectError) -> JSONValue {
        guard body.count(where: { $0 == UInt8(ascii: ",") }) <= maxCommas else { throw .garbage("JSON too wide") }
        return try JSONBody.decode(JSONValue.self, from: body)
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

    /// The member whose key is the name, in whatever case and with or without a final dot.
    subscript(name: Name) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.keys.sorted().first { Name($0) == name }.flatMap { members[$0] }
    }

    var elements: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// As text, whatever the vendor wrote it as; nil for arrays, objects and null.
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

/// An array of addresses in a vendor's JSON, with the TTL beside it. It can't say "no such name": emptiness may also
/// mean "not my name".
enum JSONAddresses {
    /// - Parameter isShared: addresses of both families are in one array, told apart by how they are written; so the
    ///   absence of one family is emptiness. Otherwise, only an array without elements is empty.
    static func answer(
        to question: Question, in elements: [JSONValue], ttl: JSONValue?, isShared: Bool
    ) throws(DialectError) -> Answer {
        guard elements.count <= DialectBounds.maxRecords else { throw .garbage("more addresses than any name has") }
        let ttlSeconds = try seconds(ttl)
        let addresses = elements.compactMap { $0.scalarText }.compactMap { Address($0) }
        let wanted = addresses.filter { $0.recordType == question.type }
        guard wanted.isEmpty else {
            return Answer(
                records: wanted.map { ResourceRecord(owner: question.name, address: $0, ttlSeconds: ttlSeconds) })
        }
        guard elements.isEmpty || (isShared && !addresses.isEmpty) else { throw .garbage("no address in the array") }
        return Answer(negative: .unprovenEmpty, ttlSeconds: ttlSeconds)
    }

    /// The server's side: the array for a family.
    static func json(_ answer: Answer?, _ type: RecordType) -> JSONValue {
        .array((answer?.addresses ?? []).filter { $0.recordType == type }.map { .text($0.description) })
    }

    static func json(ttlOf answer: Answer?) -> JSONValue {
        .integer(Int(answer?.ttlSeconds ?? DialectBounds.defaultTTLSeconds))
    }

    static func reply(_ body: JSONValue, status: Int = 200) -> HTTPReply {
        HTTPReply(
            status: status, headers: HTTPHeaders([.init("Content-Type", "application/json")]),
            body: JSONBody.encode(body))
    }

    /// Absent and not positive: the default, because the answer was meant to be used (providers.md 9.5).
    private static func seconds(_ ttl: JSONValue?) throws(DialectError) -> UInt32 {
        let number: Int
        switch ttl {
        case nil, .other?: return DialectBounds.defaultTTLSeconds
        case .integer(let integer)?: number = integer
        case .text(let text)?:
            guard let integer = Int(text) else { throw .garbage("TTL is no number") }
            number = integer
        case .boolean, .array, .object: throw .garbage("TTL is no number")
        }
        guard number > 0 else { return DialectBounds.defaultTTLSeconds }
        return UInt32(clamping: min(number, Int(DialectBounds.maxTTLSeconds)))
    }
}
