// Rate limit for many keys within fixed memory: the generic cell rate algorithm (ITU-T I.371) over hashed cells.
// Shared by all threads without a lock; reads no clock.
//
// Invariants
// - A cell holds a time: when its counted queries would have arrived at exactly the rate. This time never decreases.
// - Each key has a cell in both rows, and the earlier time counts. It is never before the key's own time, so that
//   sharing never raises a key's rate. It is later only if both cells are shared with busy keys, so that few keys get a
//   lower rate.
// - Refused queries are not counted: a client that slows down is admitted again at once.
//
// Two threads that judge the same key at the same time may count one query for two. A key therefore gets at most the
// rate times the number of threads; in practice it gets the rate, because a flow stays on one thread.

import DNSWire
import Synchronization

/// `@unchecked Sendable`: the cells are atomics, allocated in `init` and freed in `deinit`.
@safe final class RateMeter: @unchecked Sendable {
    /// Number of cells, a power of two. With 200 busy clients, one of a hundred idle ones shares both cells with busy
    /// ones.
    static let cellsPerRow = 2048
    /// Retries after a concurrent update; each means that another thread admitted a query.
    private static let maxAttempts = 8
    private static let nanosecondsPerSecond: UInt64 = 1_000_000_000

    private let interval: UInt64
    private let tolerance: UInt64
    private let cells: UnsafeMutablePointer<Atomic<UInt64>>

    /// - Parameter perSecond: average rate, 1 or more; a burst of as many is admitted after a quiet second.
    init(perSecond: Int) {
        interval = RateMeter.nanosecondsPerSecond / UInt64(perSecond)
        tolerance = interval * UInt64(perSecond - 1)
        unsafe cells = .allocate(capacity: 2 * RateMeter.cellsPerRow)
        for index in 0..<2 * RateMeter.cellsPerRow { unsafe (cells + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe cells.deinitialize(count: 2 * RateMeter.cellsPerRow)
        unsafe cells.deallocate()
    }

    /// Counts one query; returns false if it exceeds the rate.
    /// - Parameters:
    ///   - hash: the hash of the key, with a secret seed.
    ///   - now: the nanoseconds of one clock.
    func admits(_ hash: UInt64, now: UInt64) -> Bool {
        let mask = UInt64(RateMeter.cellsPerRow - 1)
        let (first, second) = (Int(hash & mask), RateMeter.cellsPerRow + Int(hash >> 32 & mask))
        for _ in 0..<RateMeter.maxAttempts {
            let one = unsafe cells[first].load(ordering: .relaxed)
            let other = unsafe cells[second].load(ordering: .relaxed)
            let arrival = max(min(one, other), now)
            guard arrival - now <= tolerance else { return false }
            let (early, late) = one <= other ? (first, second) : (second, first)
            let exchange = unsafe cells[early].compareExchange(
                expected: min(one, other), desired: arrival + interval, ordering: .relaxed)
            guard exchange.exchanged else { continue }
            unsafe cells[late].max(arrival + interval, ordering: .relaxed)
            return true
        }
        return true
    }
}
