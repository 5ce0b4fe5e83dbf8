// Durations that one thread counts and others read, without locks.

import Synchronization

/// Each cell is right by itself, and a reader may find the sum a batch ahead of the buckets: unlike the counts of a
/// tally, nothing has to balance. So there is no sequence lock, and a duration costs two additions instead of a
/// hundred stores.
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

    /// By the one thread that owns it: `count` times the same duration.
    package func record(microseconds: UInt64, count: UInt64) {
        guard count > 0 else { return }
        let bucket = LatencyHistogram.bucket(ofMicroseconds: microseconds)
        unsafe cells[bucket].store(cells[bucket].load(ordering: .relaxed) &+ count, ordering: .relaxed)
        sum.store(sum.load(ordering: .relaxed) &+ microseconds &* count, ordering: .relaxed)
    }

    /// By any thread.
    package func read() -> LatencyHistogram {
        var histogram = LatencyHistogram()
        for index in histogram.buckets.indices {
            histogram.buckets[index] = unsafe cells[index].load(ordering: .relaxed)
        }
        histogram.sumMicroseconds = sum.load(ordering: .relaxed)
        return histogram
    }
}
