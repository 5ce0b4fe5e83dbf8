// Digest of bytes that is equal in every process: FNV-1a (Fowler, Noll, Vo) with 64 bits. Not for untrusted bytes:
// their author could make two texts with one digest.

package struct StableDigest: Equatable, Sendable {
    package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    package init() {}

    package mutating func add(_ bytes: [UInt8]) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}
