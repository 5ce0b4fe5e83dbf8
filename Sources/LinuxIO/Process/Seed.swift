// Randomness from the kernel: query IDs, hash seeds, the choice of a source. Fit for secrets.

import CLinux
import Glibc

/// A class on purpose: a copied value would hand out the same numbers twice.
package final class SystemEntropy: RandomNumberGenerator {
    private var block: [UInt64] = []

    /// One call for 32 numbers; up to 256 bytes come whole and uninterrupted (getrandom(2)).
    private static let numbersPerBlock = 32

    package init() {}

    package func next() -> UInt64 {
        if let number = block.popLast() { return number }
        block = unsafe [UInt64](unsafeUninitializedCapacity: SystemEntropy.numbersPerBlock) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            let got = unsafe getrandom(bytes.baseAddress, bytes.count, 0)
            precondition(got == bytes.count, "the kernel gave no random bytes")
            count = buffer.count
        }
        return block.removeLast()
    }
}
