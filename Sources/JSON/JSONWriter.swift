// Writes JSON text.

extension JSONValue {
    /// The document without white space, members sorted by name: the same value makes the same text.
    package var text: String {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .boolean(let boolean): bytes.append(contentsOf: (boolean ? "true" : "false").utf8)
        case .integer(let integer): bytes.append(contentsOf: String(integer).utf8)
        case .number(let number): bytes.append(contentsOf: JSONValue.text(of: number).utf8)
        case .text(let text): JSONValue.write(text, to: &bytes)
        case .array(let elements):
            JSONValue.write(elements, between: "[]", to: &bytes) { $0.write(to: &$1) }
        case .object(let object):
            JSONValue.write(object.members.sorted { $0.name < $1.name }, between: "{}", to: &bytes) { member, bytes in
                JSONValue.write(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
        }
    }

    private static func write<Part>(
        _ parts: [Part], between brackets: StaticString, to bytes: inout [UInt8],
        _ writePart: (Part, inout [UInt8]) -> Void
    ) {
        bytes.append(brackets.description.utf8.first ?? 0)
        for (place, part) in parts.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            writePart(part, &bytes)
        }
        bytes.append(brackets.description.utf8.last ?? 0)
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
