// Hexadecimal text for vectors.

import Testing

func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

func bytes(_ digits: String) throws -> [UInt8] {
    let digits = Array(digits.utf8)
    return try stride(from: 0, to: digits.count, by: 2).map { index in
        try #require(UInt8(String(decoding: digits[index..<(index + 2)], as: UTF8.self), radix: 16))
    }
}
