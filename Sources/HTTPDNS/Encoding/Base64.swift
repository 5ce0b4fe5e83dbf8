// Base64 (RFC 4648). DoH uses the URL alphabet without padding (RFC 8484); Alibaba's encrypted replies use the standard
// alphabet with padding.

struct Base64: Sendable {
    private let alphabet: [UInt8]
    private let isPadded: Bool

    private init(lastTwo: String, isPadded: Bool) {
        alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(lastTwo)".utf8)
        self.isPadded = isPadded
    }

    /// The standard alphabet (RFC 4648 section 4).
    static let standard = Base64(lastTwo: "+/", isPadded: true)
    /// The URL alphabet (RFC 4648 section 5).
    static let url = Base64(lastTwo: "-_", isPadded: false)

    func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.append(addingCapacity: (bytes.count + 2) / 3 * 4) { text in
            let (bytes, alphabet) = (bytes.span, alphabet.span)
            // Three bytes are four characters. Fewer bytes at the end are filled up with zeros.
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let count = min(3, bytes.count - start)
                var group = UInt32(bytes[start]) << 16
                if count > 1 { group |= UInt32(bytes[start + 1]) << 8 }
                if count > 2 { group |= UInt32(bytes[start + 2]) }
                for character in 0...count { text.append(alphabet[Int(group >> (18 - 6 * character) & 0x3F)]) }
            }
            while isPadded, !text.count.isMultiple(of: 4) { text.append(UInt8(ascii: "=")) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns nil for an invalid character or length. Accepts both padded and unpadded text in both alphabets, since
    /// implementations differ.
    func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var pending: UInt32 = 0
        var bitCount = 0
        let body = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        guard text.utf8.dropFirst(body.count).allSatisfy({ $0 == UInt8(ascii: "=") }) else { return nil }
        for character in body {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            pending = (pending << 6 | UInt32(value)) & 0xFFFF
            bitCount += 6
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(bitCount)))
        }
        return bitCount < 6 ? bytes : nil
    }
}
