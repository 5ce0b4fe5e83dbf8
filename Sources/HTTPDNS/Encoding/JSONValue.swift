// JSON of unknown shape: replies of vendors that differ between versions, and the target of a template's paths.

import DNSWire
import JSON

extension JSONValue {
    /// Maximum number of parts, which exceeds legitimate replies for twenty names.
    private static let maxParts = 1024

    static func decode(_ body: [UInt8]) throws(DialectError) -> JSONValue {
        try JSONBody.read(body, maxParts: maxParts)
    }

    var body: [UInt8] { Array(text.utf8) }

    /// The member with this name as its key, in any letter case and with or without a final dot.
    subscript(name: Name) -> JSONValue? {
        guard case .object(let object) = self else { return nil }
        return object.members.first { Name($0.name) == name }?.value
    }

    /// The value as text; nil for arrays, objects, null and numbers that are no integers.
    var scalarText: String? {
        switch self {
        case .text(let text): text
        case .integer(let number): String(number)
        case .boolean(let boolean): String(boolean)
        case .number(let number): Int(exactly: number).map { String($0) }
        case .array, .object, .null: nil
        }
    }

    /// The value of a number or of a string of digits, since servers differ.
    var lenientInteger: Int? {
        switch self {
        case .integer(let number): number
        case .number(let number): Int(exactly: number)
        case .text(let text): Int(text)
        case .null, .boolean, .array, .object: nil
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
        let list = AddressList(texts: elements.map { $0.scalarText ?? "" }, ttl: LenientTTL(ttl?.lenientInteger))
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
            body: body.body)
    }
}
