// Writes JSON text.

extension JSONValue {
    /// The document without white space, members sorted by name: the same value makes the same text.
    package var text: String {
        var bytes: [UInt8] = []
        write(to: &bytes, atDepth: nil)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The document for people: members sorted by name, each of them and each element on a line of its own.
    package var indentedText: String {
        var bytes: [UInt8] = []
        write(to: &bytes, atDepth: 0)
        return String(decoding: bytes, as: UTF8.self) + "\n"
    }

    /// - Parameter depth: the number of arrays and objects around the value; nil: without white space.
    private func write(to bytes: inout [UInt8], atDepth depth: Int?) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .boolean(let boolean): bytes.append(contentsOf: (boolean ? "true" : "false").utf8)
        case .integer(let integer): bytes.append(contentsOf: String(integer).utf8)
        case .number(let number): bytes.append(contentsOf: JSONValue.text(of: number).utf8)
        case .text(let text): JSONValue.write(text, to: &bytes)
        case .array(let elements):
            JSONValue.write(elements, between: "[]", to: &bytes, atDepth: depth) {
                $0.write(to: &$1, atDepth: depth.map { $0 + 1 })
            }
        case .object(let object):
            let members = object.members.sorted { $0.name < $1.name }
            JSONValue.write(members, between: "{}", to: &bytes, atDepth: depth) { member, bytes in
                JSONValue.write(member.name, to: &bytes)
                bytes.append(contentsOf: (depth == nil ? ":" : ": ").utf8)
                member.value.write(to: &bytes, atDepth: depth.map { $0 + 1 })
            }
        }
    }

    private static func write<Part>(
        _ parts: [Part], between brackets: StaticString, to bytes: inout [UInt8], atDepth depth: Int?,
        _ writePart: (Part, inout [UInt8]) -> Void
    ) {
        bytes.append(brackets.description.utf8.first ?? 0)
        for (place, part) in parts.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            if let depth { beginLine(&bytes, depth + 1) }
            writePart(part, &bytes)
        }
        if let depth, !parts.isEmpty { beginLine(&bytes, depth) }
        bytes.append(brackets.description.utf8.last ?? 0)
    }

    private static func beginLine(_ bytes: inout [UInt8], _ depth: Int) {
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
    }

    /// A whole number is written without a fraction. A number beyond `Double` is written as one.
    private static func text(of number: Double) -> String {
        guard number.isFinite, number != 0 else { return number == 0 ? "0" : number < 0 ? "-1e999" : "1e999" }
        let text = "\(number)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Escapes what RFC 8259 section 7 requires.
    private static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
            case 0x08: bytes.append(contentsOf: "\\b".utf8)
            case 0x09: bytes.append(contentsOf: "\\t".utf8)
            case 0x0A: bytes.append(contentsOf: "\\n".utf8)
            case 0x0C: bytes.append(contentsOf: "\\f".utf8)
            case 0x0D: bytes.append(contentsOf: "\\r".utf8)
            case 0..<0x20:
                bytes.append(contentsOf: (byte < 0x10 ? "\\u000" : "\\u00").utf8)
                bytes.append(contentsOf: String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
