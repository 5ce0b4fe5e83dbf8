// Hexadecimal text, used for Tencent's ciphertext and the vendors' signatures.

import DNSWire

package enum Hex {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Encodes bytes in lower case.
    package static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Decodes digits of both cases; returns nil for an odd length and for invalid characters.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        var rest = text[...]
        while let high = rest.popFirst(), let low = rest.popFirst() {
            guard let high = high.hexValue, let low = low.hexValue else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
