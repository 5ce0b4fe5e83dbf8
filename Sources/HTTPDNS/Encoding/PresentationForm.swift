// Converts RDATA to and from text (RFC 1035 section 5.1), for types with one common text form. Used for JSON replies
// and zone files.

package import DNSWire

package enum PresentationForm {
    package static let types: [RecordType] = [.a, .aaaa, .cname, .ns, .ptr, .mx, .txt, .srv, .soa]

    /// The types that can be read from text. Vendors also use RFC 3597's generic form; Cloudflare uses it for all
    /// types without a text form. The text of other types differs between servers.
    package static let readable: [RecordType] = types + [.dname, .svcb, .https, .caa]

    /// Maximum number of tokens. A SOA record has seven. A TXT record may have as many strings as fit the body, but
    /// legitimate ones have fewer.
    private static let maxTokens = 64

    /// Returns the RDATA for a text; nil if the type is not readable or the text is invalid for it.
    ///
    /// - Parameter origin: completes names without a final dot; nil: all names are absolute.
    package static func bytes(of text: String, as type: RecordType, origin: Name? = nil) -> [UInt8]? {
        if type.isAddress, let address = Address(text), address.recordType == type { return address.bytes }
        if text.hasPrefix("\\#") { return generic(text, as: type) }
        if type == .txt { return strings(text) }
        if type.isServiceBinding { return ServiceBindingForm.bytes(of: text, origin: origin) }
        if type == .caa { return authorization(text) }
        let tokens = text.split(maxSplits: maxTokens, whereSeparator: \.isWhitespace).map(String.init)
        if type.isAddress {
            guard tokens.count == 1, let address = Address(tokens[0]), address.recordType == type else { return nil }
            return address.bytes
        }
        guard let fields = layout(of: type), fields.count == tokens.count else { return nil }
        var data: [UInt8] = []
        for (field, token) in zip(fields, tokens) {
            guard let bytes = field.bytes(of: token, origin: origin) else { return nil }
            data += bytes
        }
        return data
    }

    /// Returns the text form: names end in a dot, strings are quoted. Nil if the data is invalid for the type.
    package static func text(of record: ResourceRecord) -> String? {
        if let address = record.address { return address.description }
        if record.type == .txt { return text(ofStrings: record.data) }
        guard let fields = layout(of: record.type) else { return nil }
        var rest = record.data[...]
        var tokens: [String] = []
        for field in fields {
            guard let token = field.text(from: &rest) else { return nil }
            tokens.append(token)
        }
        return rest.isEmpty ? tokens.joined(separator: " ") : nil
    }

    /// Returns RDATA of any type in the generic form (RFC 3597 section 5).
    package static func genericText(of data: [UInt8]) -> String {
        "\\# \(data.count)" + (data.isEmpty ? "" : " \(Hex.encode(data))")
    }

    /// Parses the generic form; nil if the length does not match the digits or the data is invalid for the type (RFC
    /// 3597 section 5).
    private static func generic(_ text: String, as type: RecordType) -> [UInt8]? {
        let tokens = text.split(whereSeparator: \.isWhitespace)
        guard tokens.count >= 2, tokens[0] == "\\#", let count = Int(tokens[1]),
            let data = Hex.decode(tokens.dropFirst(2).joined().utf8), data.count == count, count <= 0xFFFF
        else { return nil }
        let record = ResourceRecord(owner: .root, type: type, ttlSeconds: 0, data: data)
        let isReadable = !types.contains(type) || self.text(of: record) != nil
        return isReadable && type.accepts(data) ? data : nil
    }

    /// Parses `0 issue "ca.example"` (RFC 8659 section 4.1.1), also without quotes, as Google and Quad9 send it.
    private static func authorization(_ text: String) -> [UInt8]? {
        let tokens = text.split(maxSplits: 2, whereSeparator: \.isWhitespace)
        guard tokens.count >= 2, let flags = UInt8(tokens[0]), (1...15).contains(tokens[1].utf8.count),
            tokens[1].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { return nil }
        var rest = tokens.count == 3 ? Array(tokens[2].utf8)[...] : []
        let head = [flags, UInt8(tokens[1].utf8.count)] + Array(tokens[1].utf8)
        guard rest.first == UInt8(ascii: "\"") else { return head + unescaped(rest) }
        rest = rest.dropFirst()
        guard let value = quoted(&rest), rest.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) else { return nil }
        return head + value
    }

    /// Parses a name; without a final dot it is relative to `origin`, if there is one. "@" is the origin.
    package static func name(_ text: String, origin: Name?) -> Name? {
        guard let origin, !text.hasSuffix(".") else { return Name(text) }
        if text == "@" { return origin }
        return Name(origin.isRoot ? text : "\(text).\(origin)")
    }

    // MARK: fields

    private enum Field {
        case number16
        case number32
        case name

        func bytes(of token: String, origin: Name?) -> [UInt8]? {
            switch self {
            case .number16: UInt16(token).map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            case .number32:
                UInt32(token).map { number in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }
            case .name: PresentationForm.name(token, origin: origin)?.wire
            }
        }

        func text(from rest: inout ArraySlice<UInt8>) -> String? {
            switch self {
            case .number16: return Field.number(from: &rest, byteCount: 2)
            case .number32: return Field.number(from: &rest, byteCount: 4)
            case .name:
                var end = rest.startIndex
                while end < rest.endIndex, rest[end] != 0 { end += 1 + Int(rest[end]) }
                guard end < rest.endIndex, let name = Name(wire: rest[...end]) else { return nil }
                rest = rest[(end + 1)...]
                return name.isRoot ? "." : "\(name)."
            }
        }

        private static func number(from rest: inout ArraySlice<UInt8>, byteCount: Int) -> String? {
            guard rest.count >= byteCount else { return nil }
            defer { rest = rest.dropFirst(byteCount) }
            return String(rest.prefix(byteCount).reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
        }
    }

    private static func layout(of type: RecordType) -> [Field]? {
        switch type {
        case .cname, .ns, .ptr, .dname: [.name]
        case .mx: [.number16, .name]
        case .srv: [.number16, .number16, .number16, .name]
        case .soa: [.name, .name, .number32, .number32, .number32, .number32, .number32]
        default: nil
        }
    }

    // MARK: strings

    /// Parses `"one" "two"`, or unquoted text as one string, as Google sends it. A text that is longer than a string
    /// can be was joined by the vendor.
    private static func strings(_ text: String) -> [UInt8]? {
        var rest = Array(text.utf8)[...]
        guard rest.first == UInt8(ascii: "\"") else { return chunks(unescaped(rest)[...]) }
        var data: [UInt8] = []
        for _ in 0..<maxTokens where !rest.isEmpty {
            guard rest.popFirst() == UInt8(ascii: "\""), let string = quoted(&rest),
                let chunks = chunks(string[...])
            else { return nil }
            data += chunks
            rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
        }
        return rest.isEmpty && data.count <= 0xFFFF ? data : nil
    }

    /// Decodes escapes. Not all vendors escape text without quotes: a backslash that begins no escape stays.
    private static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.contains(UInt8(ascii: "\\")) else { return Array(text) }
        var rest = text
        var string: [UInt8] = []
        while let byte = rest.popFirst() {
            var behind = rest
            if byte == UInt8(ascii: "\\"), let escaped = escaped(&behind) {
                string.append(escaped)
                rest = behind
            } else {
                string.append(byte)
            }
        }
        return string
    }

    private static func chunks(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        text.count <= maxTokens * ResourceRecord.maxStringBytes ? ResourceRecord.strings(text) : nil
    }

    /// Reads up to and including the closing quote; nil if there is none.
    static func quoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        var string: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return string }
            guard byte == UInt8(ascii: "\\") else {
                string.append(byte)
                continue
            }
            guard let escaped = escaped(&rest) else { return nil }
            string.append(escaped)
        }
        return nil
    }

    /// Reads the part after a backslash: three digits of a byte, or any other character; nil if it is neither.
    static func escaped(_ rest: inout ArraySlice<UInt8>) -> UInt8? {
        guard let first = rest.popFirst() else { return nil }
        guard first.isDigit else { return first }
        let digits = [first] + rest.prefix(2)
        guard digits.count == 3, digits.allSatisfy(\.isDigit) else { return nil }
        rest = rest.dropFirst(2)
        return UInt8(exactly: digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
    }

    private static func text(ofStrings data: [UInt8]) -> String? {
        var rest = data[...]
        var strings: [String] = []
        while let count = rest.popFirst() {
            guard rest.count >= Int(count) else { return nil }
            strings.append("\"" + rest.prefix(Int(count)).map(escape).joined() + "\"")
            rest = rest.dropFirst(Int(count))
        }
        return strings.isEmpty ? nil : strings.joined(separator: " ")
    }

    private static func escape(_ byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): "\\" + String(Unicode.Scalar(byte))
        case 0x20..<0x7F: String(Unicode.Scalar(byte))
        default: "\\" + byte.digits(3)
        }
    }
}
