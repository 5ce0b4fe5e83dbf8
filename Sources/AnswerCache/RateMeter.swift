// How often something may happen for each of many clients, within fixed memory: the generic cell rate algorithm (ITU-T
// I.371) over hashed cells. Shared by all threads without a lock; reads no clock.
//
// Invariants
// - A cell holds a time: when the queries that were counted there would have arrived if they had come evenly at the
//   rate. It never goes back.
// - Each key has a cell in both rows, and the earlier one counts. It is never before the key's own time, so that
//   nobody gets more than the rate because of others; and it is behind it only where both cells are shared with others
//   that are busy, so that few get less.
// - What is refused is not counted: who slows down is let in again at once.
//
// Two threads that judge the same key at the same time may count one query for two. A key never gets more than the
// rate times the number of threads by that; in practice it gets the rate, since a flow stays on one thread.

import Synchronization

/// `@unchecked Sendable`: the cells are atomics, allocated in `init` and freed in `deinit`.
@safe final class RateMeter: @unchecked Sendable {
    /// With 200 busy clients one of a hundred idle ones shares both cells with some. A power of two.
    static let cellsPerRow = 2048
    /// Other threads got between; each time one of them was let in.
    private static let maxAttempts = 8
    private static let nanosecondsPerSecond: UInt64 = 1_000_000_000

    private let interval: UInt64
    private let tolerance: UInt64
    private let cells: UnsafeMutablePointer<Atomic<UInt64>>

    /// - Parameter perSecond: 1 or more, on the average; as many may come at once after a quiet second.
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

    /// One more; false if it is one too many.
    /// - Parameters:
    ///   - hash: of the key, with a seed that nobody outside knows.
    ///   - now: nanoseconds of one clock.
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
