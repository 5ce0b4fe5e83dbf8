// Documents and values: what is read, what is refused, and that both directions agree with Foundation's JSON.

import FoundationEssentials
import JSON
import TestSupport
import Testing

struct JSONTests {
    private func read(_ text: String, within limits: JSONLimits = JSONLimits()) throws(JSONFault) -> JSONValue {
        try JSONValue(reading: Array(text.utf8), within: limits)
    }

    @Test(
        "a document is read",
        arguments: [
            ("null", .null), (" true\t", .boolean(true)), ("\n[ ]\r", .array([])), ("{}", .object([:])),
            ("-0", .integer(0)), ("9223372036854775807", .integer(.max)), ("1.0", .number(1)), ("-1E+2", .number(-100)),
            ("9223372036854775808", .number(9_223_372_036_854_775_808)), ("1e999", .number(.infinity)),
            ("\"\"", .text("")), (#""a\"\\\/\b\f\n\r\t""#, .text("a\"\\/\u{8}\u{c}\n\r\t")),
            (#""\u00e9\u6f22\ud83d\ude00""#, .text("é漢😀")),
            (#""\ud800\u0041\udc00""#, .text("\u{FFFD}A\u{FFFD}")),
            (#"{"a":[1,{"b":null}],"a":2}"#, .object(["a": .array([.integer(1), .object(["b": .null])])])),
            ("\u{FEFF}1", .integer(1)),
        ] as [(String, JSONValue)])
    func documents(text: String, value: JSONValue) throws {
        #expect(try read(text) == value)
    }

    @Test(
        "what is no JSON is refused",
        arguments: [
            "", " ", "1 2", "[1,]", "[,1]", "{\"a\":1,}", "{a:1}", "{'a':1}", "{\"a\" 1}", "{\"a\":}", "[1", "{\"a\":1",
            "\"", "\"\\\"", "\"\u{1}\"", "\"\\x\"", "\"\\u12\"", "\"\\u+123\"", "01", "-", "+1", ".5", "1.", "1e",
            "1e+",
            "tru", "True", "nul", "NaN", "Infinity", "0x10", "1 // comment", "\u{FEFF}",
        ])
    func refusals(text: String) {
        #expect(throws: JSONFault.notJSON) { try read(text) }
    }

    @Test("limits: depth, parts, UTF-8")
    func limits() throws {
        let nested = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        _ = try read(nested(8), within: JSONLimits(maxDepth: 8))
        #expect(throws: JSONFault.tooDeep(8)) { try read(nested(9), within: JSONLimits(maxDepth: 8)) }
        #expect(throws: JSONFault.tooDeep(32)) { try read(nested(100_000)) }
        _ = try read("[1,2,3]", within: JSONLimits(maxParts: 3))
        #expect(throws: JSONFault.tooManyParts(3)) { try read("[1,2,3,4]", within: JSONLimits(maxParts: 3)) }
        #expect(throws: JSONFault.notUTF8) { try JSONValue(reading: [0x22, 0xFF, 0x22]) }
        #expect(throws: JSONFault.notUTF8) { try JSONValue(reading: [0x22, 0xC0, 0x80, 0x22]) }
    }

    private enum Kind: String, Codable, CodingKeyRepresentable {
        case one, two
    }

    private struct Part: Codable, Equatable {
        var small: Int8
        var large: UInt64
        var numbers: [Double]
        var names: [String: Int?]
        var isSet: Bool
        var absent: String?
        var single: Float
    }

    private struct Whole: Codable, Equatable {
        var parts: [Part]
        var text: String
        var kind: Kind
        var lists: [[Int]]
        var byKind: [Kind: Part]
    }

    private static let whole: Whole = {
        let part = Part(
            small: -128, large: UInt64(Int.max), numbers: [0, 1, -0.5, 1e-7, 1e21, 123_456_789.25, .pi],
            names: ["x": 1, "ä": nil, "A": 3], isSet: true, single: 0.1)
        let ascii = String(String.UnicodeScalarView((0...0x7F).compactMap { Unicode.Scalar($0) }))
        let text = "a/b\"\\" + ascii + "漢😀\u{2028}"
        return Whole(parts: [part, part], text: text, kind: .two, lists: [[], [1, -2]], byKind: [.one: part])
    }()

    @Test("values are written as Foundation writes them, and read again")
    func values() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = try JSONTests.whole.encoded().text
        #expect(text == String(decoding: try encoder.encode(JSONTests.whole), as: UTF8.self))
        #expect(try Whole(decoding: read(text)) == JSONTests.whole)
    }

    @Test("the text for people has a line for each member and element, and is the same document")
    func indented() throws {
        let value = JSONValue.object(["b": .array([.integer(1), .array([])]), "a": .object([:]), "c": .text("x")])
        let lines = ["{", "  \"a\": {},", "  \"b\": [", "    1,", "    []", "  ],", "  \"c\": \"x\"", "}", ""]
        #expect(value.indentedText == lines.joined(separator: "\n"))
        let whole = try JSONTests.whole.encoded()
        #expect(try JSONValue(reading: Array(whole.indentedText.utf8)).text == whole.text)
    }

    @Test("numbers that JSON cannot hold become text")
    func nonNumbers() throws {
        #expect(try [Double.infinity, -.infinity, .nan].encoded().text == #"["infinite","-infinite","none"]"#)
        #expect(throws: EncodingError.self) { try [UInt64.max].encoded() }
    }

    private struct Number: Decodable {
        let a: Int8
    }

    @Test("an error tells the place")
    func errors() throws {
        let place = { (text: String) throws -> String in
            do {
                return "\(try [Number](decoding: read(text)).map(\.a))"
            } catch let error as DecodingError {
                switch error {
                case .typeMismatch(_, let context): return "type \(context.codingPath.map(\.stringValue))"
                case .valueNotFound(_, let context): return "null \(context.codingPath.map(\.stringValue))"
                case .keyNotFound(let key, let context):
                    return "no \(key.stringValue) \(context.codingPath.map(\.stringValue))"
                case .dataCorrupted(let context): return "value \(context.codingPath.map(\.stringValue))"
                @unknown default: return "other"
                }
            }
        }
        #expect(try place(#"[{"a":1},{"a":2.0}]"#) == "[1, 2]")
        #expect(try place(#"[{"a":1},{"a":"2"}]"#) == #"type ["1", "a"]"#)
        #expect(try place(#"[{"a":null}]"#) == #"null ["0", "a"]"#)
        #expect(try place(#"[{"b":1}]"#) == #"no a ["0"]"#)
        #expect(try place(#"[{"a":128}]"#) == #"value ["0", "a"]"#)
        #expect(try place(#"[{"a":1.5}]"#) == #"value ["0", "a"]"#)
        #expect(try place(#"[{"a":1e999}]"#) == #"value ["0", "a"]"#)
        #expect(try place(#"{"a":1}"#) == "type []")
        #expect(try place("[null]") == #"null ["0"]"#)
    }

    @Test("what is read of changed documents, Foundation reads as well, and the same")
    func changedDocuments() throws {
        var random = SeededRandom(seed: 7)
        let document = Array(
            #"{"a":[1,-2.5e3,true,null,"x\u00e9\n"],"b":{"c":"d","e":[]},"f":9223372036854775807}"#.utf8)
        var agreed = 0
        for round in 0..<20_000 {
            var changed = document
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let alphabet = Array("{}[],:\"\\0123456789eE.+-truefalsn /u\n".utf8)
                changed[Int.random(in: changed.indices, using: &random)] = alphabet.randomElement(using: &random) ?? 0
            }
            guard let value = try? JSONValue(reading: changed) else { continue }
            let theirs = try? JSONDecoder().decode(Theirs.self, from: Data(changed))
            // Foundation refuses half of a surrogate pair, and numbers beyond `Double`.
            guard let theirs else { continue }
            #expect(
                value.withoutIntegers == theirs.value.withoutIntegers,
                "seed 7, round \(round): \(String(decoding: changed, as: UTF8.self))")
            agreed += 1
        }
        #expect(agreed > 1000)
    }

    /// Any document, as Foundation decodes it.
    private struct Theirs: Decodable {
        let value: JSONValue

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                value = .null
            } else if let boolean = try? container.decode(Bool.self) {
                value = .boolean(boolean)
            } else if let text = try? container.decode(String.self) {
                value = .text(text)
            } else if let elements = try? container.decode([Theirs].self) {
                value = .array(elements.map(\.value))
            } else if let members = try? container.decode([String: Theirs].self) {
                value = .object(JSONObject(members.map { ($0.key, $0.value.value) }))
            } else {
                let number = try container.decode(Double.self)
                let integer = try? container.decode(Int.self)
                value = integer.map(JSONValue.integer) ?? .number(number)
            }
        }
    }
}

extension JSONValue {
    /// The document with its integers as `Double`: Foundation takes 1.0 for an integer.
    fileprivate var withoutIntegers: JSONValue {
        switch self {
        case .integer(let integer): .number(Double(integer))
        case .array(let elements): .array(elements.map(\.withoutIntegers))
        case .object(let object): .object(JSONObject(object.members.map { ($0.name, $0.value.withoutIntegers) }))
        case .null, .boolean, .number, .text: self
        }
    }
}
