// A histogram that one thread writes and others read, without locks.

import Synchronization

/// Each cell is consistent by itself; a reader may see the sum one batch ahead of the buckets. Unlike in a tally, no
/// counts must balance. So no sequence lock is needed, and recording costs two additions instead of a hundred stores.
///
/// `@unchecked Sendable`: the cells are atomics, allocated in `init` and freed in `deinit`.
@safe package final class PublishedHistogram: @unchecked Sendable {
    private let sum = Atomic<UInt64>(0)
    private let cells: UnsafeMutablePointer<Atomic<UInt64>>

    package init() {
        unsafe cells = .allocate(capacity: LatencyHistogram.bucketCount)
        for index in 0..<LatencyHistogram.bucketCount { unsafe (cells + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe cells.deinitialize(count: LatencyHistogram.bucketCount)
        unsafe cells.deallocate()
    }

    /// Records the same duration `count` times. Called only by the thread that owns the histogram.
    package func record(microseconds: UInt64, count: UInt64) {
        guard count > 0 else { return }
        let bucket = LatencyHistogram.bucket(ofMicroseconds: microseconds)
        unsafe cells[bucket].store(cells[bucket].load(ordering: .relaxed) &+ count, ordering: .relaxed)
        sum.store(sum.load(ordering: .relaxed) &+ microseconds &* count, ordering: .relaxed)
    }

    /// Returns a copy; callable from any thread.
    package func read() -> LatencyHistogram {
        var histogram = LatencyHistogram()
        for index in histogram.buckets.indices {
            histogram.buckets[index] = unsafe cells[index].load(ordering: .relaxed)
        }
        histogram.sumMicroseconds = sum.load(ordering: .relaxed)
        return histogram
    }
}
