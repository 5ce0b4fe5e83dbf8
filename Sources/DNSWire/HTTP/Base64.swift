// Base64 (RFC 4648). DoH uses the URL alphabet without padding (RFC 8484); Alibaba's encrypted replies use the standard
// alphabet with padding.

package struct Base64: Sendable {
    private let alphabet: [UInt8]
    private let isPadded: Bool

    private init(lastTwo: String, isPadded: Bool) {
        alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(lastTwo)".utf8)
        self.isPadded = isPadded
    }

    /// The standard alphabet (RFC 4648 section 4).
    package static let standard = Base64(lastTwo: "+/", isPadded: true)
    /// The URL alphabet (RFC 4648 section 5).
    package static let url = Base64(lastTwo: "-_", isPadded: false)

    package func encode(_ bytes: [UInt8]) -> String { String(decoding: append(bytes, to: []), as: UTF8.self) }

    /// Returns the text with the bytes appended in Base64.
    package func append(_ bytes: [UInt8], to prefix: [UInt8]) -> [UInt8] {
        let size = prefix.count + (bytes.count + 2) / 3 * 4
        var text: [UInt8] = []
        text.append(addingCapacity: size) { text in
            text.append(prefix.span)
            let (bytes, alphabet) = (bytes.span, alphabet.span)
            var next = 0
            // Three bytes are four characters.
            while next &+ 3 <= bytes.count {
                let (first, second) = unsafe (bytes[unchecked: next], bytes[unchecked: next &+ 1])
                let group = unsafe UInt32(first) << 16 | UInt32(second) << 8 | UInt32(bytes[unchecked: next &+ 2])
                text.appendBigEndian(Base64.characters(of: group, alphabet))
                next &+= 3
            }
            guard next < bytes.count else { return }
            // Fewer bytes at the end are filled up with zeros.
            let isPair = next + 2 == bytes.count
            let group = UInt32(bytes[next]) << 16 | (isPair ? UInt32(bytes[next + 1]) << 8 : 0)
            let characters = Base64.characters(of: group, alphabet)
            text.appendBigEndian(UInt16(characters >> 16))
            if isPair { text.append(UInt8(truncatingIfNeeded: characters >> 8)) }
            if isPadded { for _ in 0..<(isPair ? 1 : 2) { text.append(UInt8(ascii: "=")) } }
        }
        return text
    }

    /// Returns the four characters of 24 bits.
    private static func characters(of group: UInt32, _ alphabet: Span<UInt8>) -> UInt32 {
        let first = unsafe alphabet[unchecked: Int(group >> 18)]
        let second = unsafe alphabet[unchecked: Int(group >> 12 & 0x3F)]
        let third = unsafe alphabet[unchecked: Int(group >> 6 & 0x3F)]
        let fourth = unsafe alphabet[unchecked: Int(group & 0x3F)]
        return UInt32(first) << 24 | UInt32(second) << 16 | UInt32(third) << 8 | UInt32(fourth)
    }

    /// Returns nil for an invalid character or length. Accepts both padded and unpadded text in both alphabets, since
    /// implementations differ.
    package func decode(_ text: String) -> [UInt8]? {
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
