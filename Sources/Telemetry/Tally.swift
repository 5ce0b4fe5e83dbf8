// Counters of events. Each thread counts in its own value and publishes it once per batch. Readers see whole batches
// only, so the sums always agree.

import Synchronization

/// The counters. Every published tally of a serving thread satisfies `queries = responses + dropped + handedOver`. Over
/// all threads, the queries in flight take the place of those handed over.
package enum Count: Int, CaseIterable {
    // Queries are counted by protocol, not by type and family. Each count is a word that every serving thread publishes
    // per batch. `top`, `watch` and the flight recorder show types.
    case udpQueries, tcpQueries
    case cacheResponses, staleResponses, providerResponses, systemResponses, localResponses
    case fallbackResponses
    /// Responses by a rule that blocks the name.
    case blockedResponses
    case refusedResponses, failureResponses
    /// A client over its rate limit was told to retry over TCP, or with a cookie.
    case limitedResponses
    case droppedShort, droppedReply
    /// A client was far over its rate limit.
    case droppedRateLimited
    /// The main thread was overloaded, and the refusal could not be sent either.
    case droppedOverload
    /// The client's connection ended before the answer came.
    case droppedGone
    /// Queries that were handed to the main thread, which answers or drops them later.
    case handedOver
    case cacheHits, cacheMisses
    case noError, formatError, serverFailure, noSuchName, notImplemented, refused, badVersion, badCookie, otherCode
    /// Replies over UDP, sent in a batch, that the socket did not accept.
    case unsentReplies
}

package struct Tally: Sendable {
    private(set) var counts = InlineArray<32, UInt64>(repeating: 0)

    package subscript(_ count: Count) -> UInt64 {
        get { counts[count.rawValue] }
        set { counts[count.rawValue] = newValue }
    }

    /// Adds to a count in place: a subscript of another module would copy all counts on each increment.
    package mutating func add(_ count: Count, _ amount: UInt64 = 1) { counts[count.rawValue] += amount }

    /// Increments three counters at once, as every cache hit does.
    package mutating func add(_ first: Count, _ second: Count, _ third: Count) {
        counts[first.rawValue] += 1
        counts[second.rawValue] += 1
        counts[third.rawValue] += 1
    }

    /// Responses that needed an upstream, whether or not one answered.
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

/// A tally that one thread publishes and others read, without locks (a sequence lock: Lameter 2005). With an atomic
/// addition per event instead of a publication per batch, the sums would agree only approximately.
///
/// `@unchecked Sendable`: the cells are atomics, allocated in `init` and freed in `deinit`.
@safe package final class PublishedTally: @unchecked Sendable {
    /// The version is odd while a publication is in progress.
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

    /// Publishes the tally. Called only by the thread that owns it.
    package func publish(_ tally: Tally) {
        let before = version.load(ordering: .relaxed)
        version.store(before &+ 1, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        let counts = tally.counts.span
        for index in 0..<Count.allCases.count { unsafe cells[index].store(counts[index], ordering: .relaxed) }
        version.store(before &+ 2, ordering: .releasing)
    }

    /// Returns a consistent copy; callable from any thread. A publication takes nanoseconds, so retries are rare.
    package func read() -> Tally {
        while true {
            let before = version.load(ordering: .acquiring)
            let tally = unsafe Tally(loading: cells)
            atomicMemoryFence(ordering: .acquiring)
            if before & 1 == 0, version.load(ordering: .relaxed) == before { return tally }
        }
    }
}
