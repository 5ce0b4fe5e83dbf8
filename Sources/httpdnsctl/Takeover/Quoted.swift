// Quotes bytes reversibly: printable ASCII unchanged, a line feed as \n, any other byte as \xHH.

enum Quoted {
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
    private static let space = UInt8(ascii: " ")
    private static let hexDigits = Array("0123456789abcdef".utf8)

    /// Escapes a text without quotes, for display.
    static func plain(_ bytes: [UInt8]) -> String { String(text(bytes).dropFirst().dropLast()) }

    static func text(_ text: String) -> String { Quoted.text(Array(text.utf8)) }

    static func text(_ bytes: [UInt8]) -> String {
        var out: [UInt8] = [quote]
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\n"): out += [backslash, UInt8(ascii: "n")]
            case 0x20...0x7E where byte != quote && byte != backslash: out.append(byte)
            default:
                out += [backslash, UInt8(ascii: "x"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
            }
        }
        return String(decoding: out + [quote], as: UTF8.self)
    }

    /// Splits a line into words and decodes the quoted ones; nil if the syntax is invalid.
    static func words(_ line: ArraySlice<UInt8>) -> [[UInt8]]? {
        var words: [[UInt8]] = []
        var rest = line
        while let first = rest.first {
            var word: [UInt8] = []
            if first == quote {
                rest = rest.dropFirst()
                guard let bytes = takeQuoted(&rest) else { return nil }
                word = bytes
            } else {
                word = Array(rest.prefix { $0 != space })
                guard !word.isEmpty else { return nil }
                rest = rest.dropFirst(word.count)
            }
            words.append(word)
            guard rest.isEmpty || rest.first == space && rest.count > 1 else { return nil }
            rest = rest.dropFirst()
        }
        return words
    }

    /// Consumes and decodes bytes up to and including the closing quote.
    private static func takeQuoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == quote { return bytes }
            guard byte == backslash else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "x"):
                guard let high = digit(rest.popFirst()), let low = digit(rest.popFirst()) else { return nil }
                bytes.append(high << 4 | low)
            default: return nil
            }
        }
        return nil
    }

    private static func digit(_ byte: UInt8?) -> UInt8? {
        byte.flatMap { hexDigits.firstIndex(of: $0) }.map { UInt8($0) }
    }
}
