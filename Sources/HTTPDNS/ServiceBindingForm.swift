// Parses the text form of SVCB and HTTPS records (RFC 9460 section 2.1), as JSON replies use it.

import DNSWire

enum ServiceBindingForm {
    /// More than the registered parameters.
    private static let maxParameters = 32
    /// Indexed by key number (RFC 9460 section 14.3.2, RFC 9461).
    private static let keys = [
        "mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint", "dohpath",
    ]

    /// Returns the RDATA for `1 . alpn=h2,h3 ipv4hint=192.0.2.1`; nil if the text is invalid. Escapes are not
    /// supported, since no registered parameter needs one.
    static func bytes(of text: String, origin: Name?) -> [UInt8]? {
        let tokens = text.split(maxSplits: maxParameters + 2, whereSeparator: \.isWhitespace).map(String.init)
        guard (2...(maxParameters + 2)).contains(tokens.count), !text.contains("\\"), let priority = UInt16(tokens[0]),
            let target = PresentationForm.name(tokens[1], origin: origin)
        else { return nil }
        var values: [UInt16: [UInt8]] = [:]
        for token in tokens.dropFirst(2) {
            let parts = token.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let key = number(of: parts[0]), values[key] == nil,
                let value = value(of: key, parts.count == 2 ? unquoted(parts[1]) : ""), value.count <= 0xFFFF
            else { return nil }
            values[key] = value
        }
        let data =
            pair(priority) + target.wire
            + values.sorted { $0.key < $1.key }.flatMap { pair($0.key) + pair(UInt16($0.value.count)) + $0.value }
        return data.count <= 0xFFFF ? data : nil
    }

    private static func number(of key: String) -> UInt16? {
        if let known = keys.firstIndex(of: key.lowercased()) { return UInt16(known) }
        return key.hasPrefix("key") ? UInt16(key.dropFirst(3)) : nil
    }

    private static func unquoted(_ text: String) -> String {
        text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
    }

    private static func value(of key: UInt16, _ text: String) -> [UInt8]? {
        let items = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        switch key {
        case 0:
            let numbers = items.compactMap(number)
            return numbers.count == items.count ? numbers.sorted().flatMap(pair) : nil
        case 1:
            guard items.allSatisfy({ (1...255).contains($0.utf8.count) }) else { return nil }
            return items.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        case 2: return text.isEmpty ? [] : nil
        case 3: return UInt16(text).map(pair)
        case 4, 6:
            let addresses = items.compactMap { Address($0) }.filter { $0.recordType == (key == 4 ? .a : .aaaa) }
            return addresses.count == items.count ? addresses.flatMap(\.bytes) : nil
        case 5: return Base64.standard.decode(text)
        default: return Array(text.utf8)
        }
    }

    private static func pair(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
}
