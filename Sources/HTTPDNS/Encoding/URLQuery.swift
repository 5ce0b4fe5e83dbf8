// Writes and reads the query part of a URL, with all percent-encoding (RFC 3986 section 2).

import DNSWire

package enum URLQuery {
    /// Maximum number of parameters, more than any dialect has; further ones in a request are ignored.
    private static let maxParameters = 32

    /// Returns the URL with the parameters appended to its query.
    ///
    /// - Parameter plain: characters to leave unescaped, beside the unreserved ones.
    static func append(
        _ parameters: [(name: String, value: String)], to url: String, plain: String = plainCharacters
    ) -> String {
        append(parameters.map { "\($0.name)=\(encode($0.value, plain: plain))" }.joined(separator: "&"), to: url)
    }

    /// - Parameter text: parameters that are already encoded.
    static func append(_ text: String, to url: String) -> String {
        url + (url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + text
    }

    /// Characters without a special meaning in a query (RFC 3986 section 3.4), which most vendors send unescaped.
    static let plainCharacters = ",;/"

    /// Returns the decoded value of the first parameter with this name; nil if the parameter is absent or wrongly
    /// escaped.
    package static func value(of name: String, in url: String) -> String? {
        guard let parts = parts(of: url).first(where: { $0[0] == name }) else { return nil }
        return parts.count == 2 ? decode(parts[1]) : ""
    }

    /// Returns all parameters in order with decoded values; omits wrongly escaped parameters.
    static func parameters(in url: String) -> [(name: String, value: String)] {
        parts(of: url).compactMap { parts in
            guard parts.count == 2 else { return (String(parts[0]), "") }
            return decode(parts[1]).map { (String(parts[0]), $0) }
        }
    }

    /// Returns the name of each parameter, and its value if it has one.
    private static func parts(of url: String) -> [[Substring]] {
        guard let mark = url.firstIndex(of: "?") else { return [] }
        let parameters = url[url.index(after: mark)...].split(separator: "&", maxSplits: maxParameters)
        return parameters.prefix(maxParameters).map {
            $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        }
    }

    /// Returns the URL up to its query.
    package static func path(of url: String) -> Substring {
        url.prefix { $0 != "?" }
    }

    static func encode(_ value: String, plain: String = plainCharacters) -> String {
        let isPlain = { (byte: UInt8) in byte.isUnreserved || plain.utf8.contains(byte) }
        guard !value.utf8.allSatisfy(isPlain) else { return value }
        var text = ""
        for byte in value.utf8 {
            if isPlain(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }

    private static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether the byte is an unreserved character of RFC 3986 section 2.3.
    fileprivate var isUnreserved: Bool {
        isHostByte || self == UInt8(ascii: ".") || self == UInt8(ascii: "~")
    }

    /// Whether the byte is a letter, digit, hyphen or underscore, the bytes of host names and service labels.
    var isHostByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}

extension Name {
    /// The name in lower case in presentation form (RFC 1035 section 5.1). Escapes dots in labels, backslashes,
    /// quotes and bytes that are not printable; a space or `*` stays.
    var escapedText: String {
        text { byte, text in
            switch byte {
            case UInt8(ascii: "."), UInt8(ascii: "\\"), UInt8(ascii: "\""):
                text.append(UInt8(ascii: "\\"))
                text.append(byte)
            case 0x20...0x7E: text.append(byte)
            default: text.append(contentsOf: ("\\" + UInt32(byte).digits(3)).utf8)
            }
        }
    }

    /// The name for plain-text providers: lower case, no final dot, "." for the root. Nil if a byte is not a letter,
    /// digit, hyphen or underscore, since the providers' handling of it is unknown.
    var hostText: String? {
        var areHostBytes = true
        let text = text { byte, text in
            areHostBytes = areHostBytes && byte.isHostByte
            text.append(byte)
        }
        return areHostBytes ? text : nil
    }

    /// The labels with dots between them, "." for the root.
    ///
    /// - Parameter append: adds a byte of a label, in lower case, to the text.
    private func text(_ append: (UInt8, inout [UInt8]) -> Void) -> String {
        guard !isRoot else { return "." }
        var text: [UInt8] = []
        text.reserveCapacity(wire.count)
        var at = 0
        while case let count = Int(wire[at]), count > 0 {
            if at > 0 { text.append(UInt8(ascii: ".")) }
            for byte in wire[(at + 1)...(at + count)] { append(byte.lowercased, &text) }
            at += 1 + count
        }
        return String(decoding: text, as: UTF8.self)
    }
}
