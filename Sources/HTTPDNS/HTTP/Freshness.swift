// The age of a reply from HTTP caches on the path (RFC 8484 section 5.1).

import DNSWire

extension HTTPHeaders {
    /// The `Age` in seconds; 0 if absent or not a number (RFC 9111 section 5.1).
    var ageSeconds: UInt32 {
        guard let text = self["Age"], !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return 0 }
        return UInt32(text) ?? UInt32.max
    }

    /// The `max-age` of `Cache-Control` in seconds; nil if absent or not a number (RFC 9111 section 5.2.2.1).
    var maxAgeSeconds: UInt32? {
        guard let text = self["Cache-Control"] else { return nil }
        let bytes = text.utf8.span
        var next = 0
        while next < bytes.count {
            let start = next
            let end = (start..<bytes.count).first { bytes[$0] == UInt8(ascii: ",") } ?? bytes.count
            let directive = bytes.extracting(start..<end)
            next = end + 1
            guard let equals = directive.indices.first(where: { directive[$0] == UInt8(ascii: "=") }),
                HTTPHeaders.isMaxAge(directive.extracting(..<equals))
            else { continue }
            return HTTPHeaders.number(directive.extracting((equals + 1)...))
        }
        return nil
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
