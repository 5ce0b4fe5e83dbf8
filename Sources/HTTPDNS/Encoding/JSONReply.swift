// The reply of JSON resolvers (providers.md 4.1), read from its document and made of its parts. Unknown members are
// ignored.

import DNSWire
import JSON

struct JSONReply {
    struct Question {
        let name: String
        /// The type as in a record; nil if it is absent.
        let type: Int?
    }

    struct Record {
        let name: String
        /// The number of the type; `noType` for an unknown mnemonic.
        let type: Int
        /// The TTL in seconds, as sent; may be negative. Nil if it is absent, or neither a whole number nor a string of
        /// digits: one record without a usable TTL must not make the whole reply unreadable.
        let ttl: Int?
        let data: String
    }

    /// A number that no record type has.
    private static let noType = 1 << 16

    var status: Int?
    var isTruncated = false
    /// The first question: servers send an array of one, or the question alone.
    var question: Question?
    var answer: [Record] = []
    var authority: [Record] = []
    /// The vendor's coded error; for a failure also the vendor's text without a code.
    var extendedError: ExtendedError?
}

// MARK: reading

extension JSONReply {
    /// - Throws: `garbage` with the place of a member of another type. It has only known names and indices, so that
    ///   errors do not repeat untrusted text.
    init(reading document: JSONValue) throws(DialectError) {
        guard case .object(let object) = document else { throw JSONReply.otherType("", document) }
        if let value = JSONReply.member("Status", of: object) {
            guard let number = value.lenientInteger else { throw JSONReply.otherType("Status", value) }
            status = number
        }
        if let value = JSONReply.member("TC", of: object) {
            guard case .boolean(let isSet) = value else { throw JSONReply.otherType("TC", value) }
            isTruncated = isSet
        }
        if let value = JSONReply.member("Question", of: object) { question = try JSONReply.question(in: value) }
        answer = try JSONReply.records("Answer", of: object)
        authority = try JSONReply.records("Authority", of: object)
        extendedError = JSONReply.extendedError(in: object, status: status)
    }

    /// Returns a member; nil if it is absent or null.
    private static func member(_ name: String, of object: JSONObject) -> JSONValue? {
        object[name].flatMap { $0 == .null ? nil : $0 }
    }

    private static func question(in value: JSONValue) throws(DialectError) -> Question? {
        if case .array(let elements) = value {
            guard let first = elements.first else { return nil }
            guard case .object = first else { throw JSONReply.otherType("Question.0", first) }
            return try question(in: first)
        }
        guard case .text(let name)? = value["name"] else { throw JSONReply.otherType("Question", value) }
        guard let type = value["type"], type != .null else { return Question(name: name, type: nil) }
        return Question(name: name, type: try self.type(type, at: "Question.type"))
    }

    private static func records(_ section: String, of object: JSONObject) throws(DialectError) -> [Record] {
        guard let value = member(section, of: object) else { return [] }
        guard case .array(let elements) = value else { throw JSONReply.otherType(section, value) }
        var records: [Record] = []
        for (index, element) in elements.enumerated() {
            guard case .object(let object) = element else {
                throw JSONReply.otherType("\(section).\(index)", element)
            }
            let name = try text("name", of: object, in: section, index)
            let data = try text("data", of: object, in: section, index)
            guard let type = object["type"] else { throw .garbage("JSON \(section).\(index) without type") }
            records.append(
                Record(
                    name: name, type: try self.type(type, at: "\(section).\(index).type"),
                    ttl: object["TTL"]?.lenientInteger, data: data))
        }
        return records
    }

    private static func text(
        _ name: String, of object: JSONObject, in section: String, _ index: Int
    ) throws(DialectError) -> String {
        guard let value = object[name] else { throw .garbage("JSON \(section).\(index) without \(name)") }
        guard case .text(let text) = value else { throw JSONReply.otherType("\(section).\(index).\(name)", value) }
        return text
    }

    /// Reads a record type: a number, a string of digits, or a mnemonic such as "A".
    private static func type(_ value: JSONValue, at place: @autoclosure () -> String) throws(DialectError) -> Int {
        if case .text(let text) = value { return Int(text) ?? RecordType(text).map { Int($0.rawValue) } ?? noType }
        guard let number = value.lenientInteger else { throw JSONReply.otherType(place(), value) }
        return number
    }

    private static func otherType(_ place: String, _ value: JSONValue) -> DialectError {
        .garbage("JSON\(place.isEmpty ? "" : " " + place) \(value == .null ? "null" : "of another type")")
    }

    // MARK: extended errors: they are only forwarded, so an unknown form never invalidates a reply

    private static func extendedError(in object: JSONObject, status: Int?) -> ExtendedError? {
        let errors = (object["extended_dns_errors"]?.elements ?? []).prefix(ExtendedError.maxOfReply)
        if let coded = ExtendedError.chosen(of: errors.compactMap(googles)) { return coded }
        guard let comment = object["Comment"] else { return nil }
        let lines: [String] =
            switch comment {
            case .text(let line): [line]
            case .array(let elements):
                elements.prefix(ExtendedError.maxOfReply)
                    .compactMap { if case .text(let line) = $0 { line } else { nil } }
            case .null, .boolean, .integer, .number, .object: []
            }
        if let coded = ExtendedError.chosen(of: lines.compactMap(extendedError)) { return coded }
        guard let status, status != 0, status != 3 else { return nil }
        return lines.first.map { ExtendedError(upstream: ExtendedError.otherCode, text: Array($0.utf8)) }
    }

    /// Reads an element of Google's form of RFC 8914.
    private static func googles(_ error: JSONValue) -> ExtendedError? {
        guard let code = error["info_code"]?.lenientInteger.flatMap({ UInt16(exactly: $0) }) else { return nil }
        guard case .text(let text)? = error["extra_text"] else { return ExtendedError(upstream: code, text: "".utf8) }
        return ExtendedError(upstream: code, text: text.utf8)
    }

    /// Reads a line of a comment: a string (Google), or one of several (Cloudflare, such as "EDE(6): DNSSEC Bogus").
    private static func extendedError(in line: String) -> ExtendedError? {
        let prefix = "EDE("
        guard line.hasPrefix(prefix) else { return nil }
        let parts = line.dropFirst(prefix.count).split(separator: ")", maxSplits: 1)
        guard let code = parts.first.flatMap({ UInt16($0) }) else { return nil }
        let text = parts.dropFirst().first.map { $0.drop { $0 == ":" || $0 == " " } } ?? ""
        return ExtendedError(upstream: code, text: Array(text.utf8))
    }
}

// MARK: writing

extension JSONReply {
    /// The document of a reply with one question. Empty sections are left out.
    var document: JSONValue {
        var object: JSONObject = [
            "Status": .integer(status ?? 0), "TC": .boolean(isTruncated), "RD": .boolean(true), "RA": .boolean(true),
        ]
        if let question {
            object["Question"] = .array([
                .object(["name": .text(question.name), "type": question.type.map(JSONValue.integer) ?? .null])
            ])
        }
        if !answer.isEmpty { object["Answer"] = .array(answer.map(\.document)) }
        if !authority.isEmpty { object["Authority"] = .array(authority.map(\.document)) }
        if let extendedError {
            object["extended_dns_errors"] = .array([
                .object(["info_code": .integer(Int(extendedError.code)), "extra_text": .text(extendedError.text)])
            ])
        }
        return .object(object)
    }
}

extension JSONReply.Record {
    fileprivate var document: JSONValue {
        .object([
            "name": .text(name), "type": .integer(type),
            "TTL": ttl.map(JSONValue.integer) ?? .null, "data": .text(data),
        ])
    }
}
