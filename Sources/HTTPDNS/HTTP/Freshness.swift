// The age of a reply from HTTP caches on the path (RFC 8484 section 5.1).

import DNSWire

extension HTTPHeaders {
    /// The `Age` in seconds; 0 if absent or not a number (RFC 9111 section 5.1).
    var ageSeconds: UInt32 {
        guard let age = value(of: "age"), age.indices.allSatisfy({ age[$0].isDigit }) else { return 0 }
        return HTTPHeaders.number(age) ?? 0
    }

    /// The `max-age` of `Cache-Control` in seconds; nil if absent or not a number (RFC 9111 section 5.2.2.1).
    var maxAgeSeconds: UInt32? {
        guard let directives = value(of: "cache-control") else { return nil }
        var start = 0
        while start < directives.count {
            let end = HTTPHeaders.position(of: UInt8(ascii: ","), in: directives, from: start)
            let directive = directives.extracting(start..<end)
            let equals = HTTPHeaders.position(of: UInt8(ascii: "="), in: directive, from: 0)
            if equals < directive.count, HTTPHeaders.isMaxAge(directive.extracting(..<equals)) {
                return HTTPHeaders.number(directive.extracting((equals + 1)...))
            }
            start = end + 1
        }
        return nil
    }

    /// Returns the first position of the byte at or after `start`, or the end if there is none.
    private static func position(of byte: UInt8, in bytes: Span<UInt8>, from start: Int) -> Int {
        var at = start
        while at < bytes.count, unsafe bytes[unchecked: at] != byte { at &+= 1 }
        return at
    }

    /// Spaces do not count.
    private static func isMaxAge(_ name: Span<UInt8>) -> Bool {
        let expected = "max-age".utf8.span
        var matched = 0
        for index in name.indices where name[index] != UInt8(ascii: " ") {
            guard matched < expected.count, name[index].lowercased == expected[matched] else { return false }
            matched += 1
        }
        return matched == expected.count
    }

    /// Returns nil if the text has no digits or anything but digits, spaces and quotation marks. A number that is too
    /// large counts as the largest.
    private static func number(_ text: Span<UInt8>) -> UInt32? {
        var number: UInt64?
        for index in text.indices where text[index] != UInt8(ascii: " ") && text[index] != UInt8(ascii: "\"") {
            guard text[index].isDigit else { return nil }
            number = min(10 * (number ?? 0) + UInt64(text[index] - UInt8(ascii: "0")), UInt64(UInt32.max))
        }
        return number.map { UInt32($0) }
    }
}

extension Answer {
    /// Returns the answer with every TTL reduced by `age`, down to 0.
    func aged(bySeconds age: UInt32) -> Answer {
        age > 0 ? mapTTLs { remaining($0, after: age) } : self
    }

    private func remaining(_ ttlSeconds: UInt32, after age: UInt32) -> UInt32 {
        ttlSeconds > age ? ttlSeconds - age : 0
    }
}
