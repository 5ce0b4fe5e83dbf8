// Random numbers from the kernel, fit for secrets: query IDs, hash seeds, the choice of a source.

import CLinux
import Glibc

/// A class, because a copied value would return the same numbers twice.
package final class SystemEntropy: RandomNumberGenerator {
    private var block: [UInt64] = []

    /// Numbers per call. Up to 256 bytes are returned completely and without interruption (getrandom(2)).
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
