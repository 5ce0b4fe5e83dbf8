// The age of a reply from HTTP caches on the path (RFC 8484 section 5.1).

import DNSWire

extension HTTPHeaders {
    /// The `Age` in seconds; 0 if absent or not a number (RFC 9111 section 5.1).
    var ageSeconds: UInt32 {
        guard let digits = value(of: "age"), !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return 0 }
        return HTTPHeaders.number(digits.span) ?? 0
    }

    /// The `max-age` of `Cache-Control` in seconds; nil if absent or not a number (RFC 9111 section 5.2.2.1).
    var maxAgeSeconds: UInt32? {
        guard let directives = value(of: "cache-control") else { return nil }
        let bytes = directives.span
        var next = 0
        while next < bytes.count {
            let start = next
            let end = HTTPHeaders.position(of: UInt8(ascii: ","), in: bytes, from: start)
            next = end + 1
            let directive = bytes.extracting(start..<end)
            let equals = HTTPHeaders.position(of: UInt8(ascii: "="), in: directive, from: 0)
            guard equals < directive.count, HTTPHeaders.isMaxAge(directive.extracting(..<equals)) else { continue }
            return HTTPHeaders.number(directive.extracting((equals + 1)...))
        }
        return nil
    }

    /// Returns the first position of the byte at or after `start`, or the end if there is none.
    private static func position(of byte: UInt8, in bytes: Span<UInt8>, from start: Int) -> Int {
        var at = start
        while at < bytes.count, bytes[at] != byte { at += 1 }
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

    /// Returns nil if the text has no digits or anything but digits, spaces and quotation marks.
    private static func number(_ text: Span<UInt8>) -> UInt32? {
        var number: UInt32?
        for index in text.indices where text[index] != UInt8(ascii: " ") && text[index] != UInt8(ascii: "\"") {
            guard text[index].isDigit else { return nil }
            let (tens, overflows) = (number ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, exceeds) = tens.addingReportingOverflow(UInt32(text[index] - UInt8(ascii: "0")))
            number = overflows || exceeds || number == .max ? .max : sum
        }
        return number
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
