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
        for directive in text.utf8.split(separator: UInt8(ascii: ",")) {
            guard let equals = directive.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = directive[..<equals].lazy.filter { $0 != UInt8(ascii: " ") }.map(\.lowercased)
            guard name.elementsEqual("max-age".utf8) else { continue }
            let digits = directive[equals...].dropFirst().filter { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: " ") }
            guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
            return UInt32(String(decoding: digits, as: UTF8.self)) ?? UInt32.max
        }
        return nil
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
