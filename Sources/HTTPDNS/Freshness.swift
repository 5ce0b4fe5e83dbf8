// The age of a reply from HTTP caches on the path (RFC 8484 section 5.1).

import DNSWire

extension HTTPHeaders {
    /// `Age`, in seconds; 0 when absent or not a number (RFC 9111 section 5.1).
    var ageSeconds: UInt32 {
        guard let text = self["Age"], !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return 0 }
        return UInt32(text) ?? UInt32.max
    }

    /// `max-age` of `Cache-Control`, in seconds; nil when absent or not a number (RFC 9111 section 5.2.2.1).
    var maxAgeSeconds: UInt32? {
        guard let text = self["Cache-Control"] else { return nil }
        for directive in text.split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].filter { $0 != " " }.lowercased()
            guard name == "max-age", parts.count == 2 else { continue }
            let digits = parts[1].filter { $0 != "\"" && $0 != " " }
            guard !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit) else { return nil }
            return UInt32(digits) ?? UInt32.max
        }
        return nil
    }
}

extension Answer {
    /// Returns the answer with every TTL reduced by `age`, down to 0.
    func aged(bySeconds age: UInt32) -> Answer {
        guard age > 0 else { return self }
        let records = records.map { $0.withTTL(remaining($0.ttlSeconds, after: age)) }
        if kind == .records { return Answer(records: records).remarked(remark) }
        let authority = authority.map { $0.withTTL(remaining($0.ttlSeconds, after: age)) }
        return Answer(
            negative: kind, chain: records, authority: authority, ttlSeconds: remaining(ttlSeconds, after: age)
        ).remarked(remark)
    }

    private func remaining(_ ttlSeconds: UInt32, after age: UInt32) -> UInt32 {
        ttlSeconds > age ? ttlSeconds - age : 0
    }
}
