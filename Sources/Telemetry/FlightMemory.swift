// Memory of 64-bit words that one thread writes and any thread may read, including a thread that dumps it during a
// crash. Initially zero; pages are allocated when first written.

import Glibc
import Synchronization

/// `@unchecked Sendable`: the cells are atomics, mapped in `init` and unmapped in `deinit`.
@safe final class FlightMemory: @unchecked Sendable {
    let byteCount: Int
    private let start: UnsafeMutableRawPointer
    let cells: UnsafeMutablePointer<Atomic<UInt64>>

    init(words: Int) {
        byteCount = words * MemoryLayout<UInt64>.stride
        let mapped = unsafe mmap(
            nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else {
            preconditionFailure("no memory for the flight recorder")
        }
        unsafe start = mapped
        // A zero word is a valid atomic with the value 0.
        unsafe cells = mapped.bindMemory(to: Atomic<UInt64>.self, capacity: words)
    }

    deinit {
        unsafe munmap(start, byteCount)
    }

    /// All bytes; valid as long as this object exists.
    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: start, count: byteCount) }
}
