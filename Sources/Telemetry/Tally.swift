// What happened, counted. Each thread counts in a plain value of its own and publishes it once per batch; readers
// always see a whole batch or none of it, so that the sums agree at any moment.

import Synchronization

/// Names of the counts. `queries = responses + dropped + handed over` holds in every published tally of a serving
/// thread, and over all threads with those still in flight.
package enum Count: Int, CaseIterable {
    case udpQueries, tcpQueries
    case cacheResponses, staleResponses, providerResponses, systemResponses, localResponses
    case fallbackResponses
    case refusedResponses, failureResponses
    /// A client over its limit was told to come back over TCP, or with a cookie.
    case limitedResponses
    case droppedShort, droppedReply
    /// A client was far over its limit.
    case droppedRateLimited
    /// The resolving thread was behind, and the refusal could not be sent either.
    case droppedOverload
    /// The client's connection had ended before its answer came.
    case droppedGone
    /// Our own question, sent back to us by a nameserver that is asked no more.
    case droppedLoop
    /// Given to the resolving thread, which answers or drops it later.
    case handedOver
    case cacheHits, cacheMisses
    case noError, formatError, serverFailure, noSuchName, notImplemented, refused, badVersion, badCookie, otherCode
    /// Replies to datagrams, sent in a batch, that the socket did not take.
    case unsentReplies
}

package struct Tally: Sendable {
    private(set) var counts = InlineArray<32, UInt64>(repeating: 0)

    package subscript(_ count: Count) -> UInt64 {
        get { counts[count.rawValue] }
        set { counts[count.rawValue] = newValue }
    }

    /// In place: an increment through the subscript of another module copies all counts there and back.
    package mutating func add(_ count: Count, _ amount: UInt64 = 1) { counts[count.rawValue] += amount }

    /// Three at once: what each hit adds.
    package mutating func add(_ first: Count, _ second: Count, _ third: Count) {
        counts[first.rawValue] += 1
        counts[second.rawValue] += 1
        counts[third.rawValue] += 1
    }

    /// All that clients got.
    package var responses: UInt64 {
        let counts: [Count] = [
            .cacheResponses, .staleResponses, .providerResponses, .systemResponses, .localResponses,
            .fallbackResponses, .refusedResponses, .failureResponses, .limitedResponses,
        ]
        return counts.reduce(0) { $0 + self[$1] }
    }

    /// Those for which an upstream was needed, whether or not there was one.
    package var upstreamResponses: UInt64 {
        let counts: [Count] = [
            .staleResponses, .providerResponses, .systemResponses, .fallbackResponses, .failureResponses,
        ]
        return counts.reduce(0) { $0 + self[$1] }
    }

    package static func += (sum: inout Tally, other: Tally) {
        for count in Count.allCases { sum[count] += other[count] }
    }

    fileprivate init(loading cells: UnsafeMutablePointer<Atomic<UInt64>>) {
        for index in Count.allCases.indices { counts[index] = unsafe cells[index].load(ordering: .relaxed) }
    }

    package init() {}
}

/// A tally that one thread publishes and others read, without locks (a sequence lock: Lameter 2005).
///
/// `@unchecked Sendable`: the cells are atomics, allocated in `init` and freed in `deinit`.
@safe package final class PublishedTally: @unchecked Sendable {
    /// Odd while a publication is under way.
    private let version = Atomic<UInt64>(0)
    private let cells: UnsafeMutablePointer<Atomic<UInt64>>

    package init() {
        unsafe cells = .allocate(capacity: Count.allCases.count)
        for index in Count.allCases.indices { unsafe (cells + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe cells.deinitialize(count: Count.allCases.count)
        unsafe cells.deallocate()
    }

    /// By the one thread that owns the tally.
    package func publish(_ tally: Tally) {
        let before = version.load(ordering: .relaxed)
        version.store(before &+ 1, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        let counts = tally.counts.span
        for index in 0..<Count.allCases.count { unsafe cells[index].store(counts[index], ordering: .relaxed) }
        version.store(before &+ 2, ordering: .releasing)
    }

    /// By any thread. Publications take nanoseconds, so a retry is rare and a second one rarer.
    package func read() -> Tally {
        while true {
            let before = version.load(ordering: .acquiring)
            let tally = unsafe Tally(loading: cells)
            atomicMemoryFence(ordering: .acquiring)
            if before & 1 == 0, version.load(ordering: .relaxed) == before { return tally }
        }
    }
}
