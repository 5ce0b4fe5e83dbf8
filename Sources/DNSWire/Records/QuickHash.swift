// Hashes of numbers that no client chooses: serial numbers, and hashes that are keyed already. The library's hasher
// costs more than the rest of a look-up.

package enum QuickHash {
    /// - Parameter seed: differs from table to table.
    @inlinable
    package static func value(of number: UInt64, seed: Int) -> Int {
        // Fibonacci hashing: every bit of the factors changes the low bits of the result.
        let product = (UInt(number) ^ UInt(bitPattern: seed)) &* 0x9E37_79B9_7F4A_7C15
        return Int(bitPattern: product ^ product >> 32)
    }
}
