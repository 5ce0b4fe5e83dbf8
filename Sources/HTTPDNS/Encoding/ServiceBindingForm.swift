// Parses the text form of SVCB and HTTPS records (RFC 9460 section 2.1), as JSON replies use it.

import DNSWire

enum ServiceBindingForm {
    /// Maximum number of parameters; fewer are registered.
    private static let maxParameters = 32
    /// The names of keys, indexed by key number (IANA's registry of SvcParamKeys of 2026-06; RFC 9460 section 14.3.2,
    /// RFC 9461, RFC 9540).
    private static let keys = [
        "mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint", "dohpath", "ohttp",
        "tls-supported-groups", "docpath", "pvd", "oots",
    ]

    /// Returns the RDATA for `1 . alpn=h2,h3 ipv4hint=192.0.2.1`; nil if the text is invalid or a
    /// key has an unknown name.
    static func bytes(of text: String, origin: Name?) -> [UInt8]? {
        let tokens = text.split(maxSplits: 2, whereSeparator: \.isWhitespace).map(String.init)
        guard tokens.count >= 2, let priority = UInt16(tokens[0]),
            let target = PresentationForm.name(tokens[1], origin: origin),
            let parameters = words(of: tokens.count == 3 ? Array(tokens[2].utf8)[...] : []),
            let values = values(of: parameters)
        else { return nil }
        let data =
            pair(priority) + target.wire
            + values.sorted { $0.key < $1.key }.flatMap { pair($0.key) + pair(UInt16($0.value.count)) + $0.value }
        return data.count <= 0xFFFF ? data : nil
    }

    /// Splits at white space outside quotes; removes quotes and decodes escapes (RFC 9460 appendix A). Nil for an open
    /// quote, a wrong escape, or too many words.
    private static func words(of text: ArraySlice<UInt8>) -> [[UInt8]]? {
        var words: [[UInt8]] = []
        var rest = text.drop(while: isSpace)
        while !rest.isEmpty {
            guard words.count < maxParameters else { return nil }
            var word: [UInt8] = []
            while let byte = rest.first, !isSpace(byte) {
                rest = rest.dropFirst()
                switch byte {
                case UInt8(ascii: "\""):
                    guard let string = PresentationForm.quoted(&rest) else { return nil }
                    word += string
                case UInt8(ascii: "\\"):
                    guard let escaped = PresentationForm.escaped(&rest) else { return nil }
                    word.append(escaped)
                default: word.append(byte)
                }
            }
            words.append(word)
            rest = rest.drop(while: isSpace)
        }
        return words
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func values(of words: [[UInt8]]) -> [UInt16: [UInt8]]? {
        var values: [UInt16: [UInt8]] = [:]
        for word in words {
            let equals = word.firstIndex(of: UInt8(ascii: "=")) ?? word.endIndex
            let name = String(decoding: word[..<equals], as: UTF8.self).lowercased()
            // The value of a numbered key is its bytes (RFC 9460 section 2.1).
            let text = word[equals...].dropFirst()
            guard let key = number(of: name), values[key] == nil,
                let value = keys.contains(name) ? value(of: key, text) : Array(text),
                value.count <= 0xFFFF
            else { return nil }
            values[key] = value
        }
        let mandatory = values[0] ?? []
        let areComplete = stride(from: 0, to: mandatory.count - 1, by: 2).allSatisfy { at in
            let key = UInt16(mandatory[at]) << 8 | UInt16(mandatory[at + 1])
            return key != 0 && values[key] != nil
        }
        return areComplete ? values : nil
    }

    /// Returns the key number; nil for an unknown name.
    private static func number(of key: String) -> UInt16? {
        if let known = keys.firstIndex(of: key) { return UInt16(known) }
        guard key.hasPrefix("key"), key.utf8.dropFirst(3).allSatisfy(\.isDigit) else { return nil }
        return UInt16(key.dropFirst(3))
    }

    private static func value(of key: UInt16, _ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        let items = items(of: bytes)
        let texts = items.map { String(decoding: $0, as: UTF8.self) }
        switch key {
        case 0:
            let numbers = Set(texts.compactMap { number(of: $0.lowercased()) })
            return numbers.count == items.count ? numbers.sorted().flatMap(pair) : nil
        case 1, 10:
            if key == 10, bytes.isEmpty { return [] }
            guard items.allSatisfy({ (1...255).contains($0.count) }) else { return nil }
            return items.flatMap { [UInt8($0.count)] + $0 }
        case 2, 8: return bytes.isEmpty ? [] : nil
        case 3, 9:
            let numbers = texts.compactMap { $0.utf8.allSatisfy(\.isDigit) ? UInt16($0) : nil }
            guard numbers.count == items.count, key == 9 || numbers.count == 1 else { return nil }
            return numbers.flatMap(pair)
        case 4, 6:
            let addresses = texts.compactMap { Address($0) }.filter { $0.recordType == (key == 4 ? .a : .aaaa) }
            return addresses.count == items.count ? addresses.flatMap(\.bytes) : nil
        case 5: return bytes.isEmpty ? nil : Base64.standard.decode(String(decoding: bytes, as: UTF8.self))
        case 7: return bytes.isEmpty ? nil : Array(bytes)
        default: return Array(bytes)
        }
    }

    /// Splits a list at its commas; a backslash makes the next byte part of the item (RFC 9460 appendix A.1).
    private static func items(of bytes: ArraySlice<UInt8>) -> [[UInt8]] {
        var items: [[UInt8]] = [[]]
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: ",") {
                items.append([])
            } else {
                let isEscape = byte == UInt8(ascii: "\\")
                items[items.count - 1].append(isEscape ? rest.popFirst() ?? byte : byte)
            }
        }
        return items
    }

    private static func pair(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
}
