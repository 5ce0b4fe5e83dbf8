// RFC 4648 section 5, without padding: what RFC 8484 carries messages in.

enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var pending: UInt32 = 0
        var bitCount = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                text.append(alphabet[Int(pending >> UInt32(bitCount) & 0x3F)])
            }
            pending &= 0x3F
        }
        if bitCount > 0 { text.append(alphabet[Int(pending << UInt32(6 - bitCount) & 0x3F)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Nil for a character outside the alphabet and for a length that no bytes have. Padding is taken off: some
    /// clients send it.
    static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var pending: UInt32 = 0
        var bitCount = 0
        for character in text.utf8.prefix(while: { $0 != UInt8(ascii: "=") }) {
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
