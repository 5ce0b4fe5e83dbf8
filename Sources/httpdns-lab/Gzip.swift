// Gzip bodies (RFC 1951 and 1952) for two faults, encoded bit by bit. Both lack a checksum, since no client reads that
// far.

enum Gzip {
    /// The header of a gzip file: magic number, deflate, no flags, no time, no level, unknown system.
    private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

    /// Wraps the text in one uncompressed gzip block, cut off after two thirds.
    static func cut(_ text: [UInt8]) -> [UInt8] {
        let count = UInt16(truncatingIfNeeded: text.count)
        let lengths = [count, ~count].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        // One final block, stored without compression.
        return header + [1] + lengths + text.prefix(text.count * 2 / 3)
    }

    /// 50 MiB of the digit 0 in 50 KiB. This is below every client's limit for a body, so the client must detect it
    /// while inflating.
    static let bomb: [UInt8] = {
        var bits = BitWriter(header)
        // A final block with dynamic codes: 286 for literals and lengths, 1 for distances, 18 for code lengths.
        bits.add(1, 1)
        bits.add(2, 2)
        bits.add(286 - 257, 5)
        bits.add(0, 5)
        bits.add(18 - 4, 4)
        // Code lengths in the order 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1: 18 is written "0",
        // 1 is "10" and 2 is "11".
        for length in [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2] { bits.add(length, 3) }
        // The literal "0" and the end of block have 2 bits, the length 258 has 1 bit, and the distance 1 has 1 bit.
        bits.addZeroLengths(48)
        bits.addCode([1, 1])
        bits.addZeroLengths(138)
        bits.addZeroLengths(69)
        bits.addCode([1, 1])
        bits.addZeroLengths(28)
        bits.addCode([1, 0])
        bits.addCode([1, 0])
        bits.addCode([1, 0])
        // From here on, two zero bits repeat the digit 258 times.
        return bits.bytes + [UInt8](repeating: 0, count: (50 << 20) / 258 / 4)
    }()

    private struct BitWriter {
        private(set) var bytes: [UInt8]
        private var usedBits = 8

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        /// Numbers are written with the lowest bit first.
        mutating func add(_ number: Int, _ count: Int) {
            addCode((0..<count).map { number >> $0 & 1 })
        }

        /// Codes are written with the highest bit first.
        mutating func addCode(_ bits: [Int]) {
            for bit in bits {
                if usedBits == 8 {
                    bytes.append(0)
                    usedBits = 0
                }
                bytes[bytes.count - 1] |= UInt8(bit) << usedBits
                usedBits += 1
            }
        }

        /// Code 18: this many symbols, 11 to 138, are unused.
        mutating func addZeroLengths(_ count: Int) {
            addCode([0])
            add(count - 11, 7)
        }
    }
}
