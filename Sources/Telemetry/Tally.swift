// Counters of events. Each thread counts in its own value and publishes it once per batch. Readers see whole batches
// only, so the sums always agree.

package import DNSWire
import Synchronization

/// The counters. Every published tally of a serving thread satisfies `queries = responses + dropped + handedOver`. Over
/// all threads, the queries in flight take the place of those handed over.
package enum Count: Int, CaseIterable {
    /// The first word after those of `Tally.queries(over:)`.
    case cacheResponses = 4
    case staleResponses, providerResponses, systemResponses, localResponses
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
    // Queries are counted by transport, not by type and family. Each count is a word that every serving thread
    // publishes per batch. `top`, `watch` and the flight recorder show types.

    /// The queries by the raw values of their transports, then the counts of `Count`.
    private(set) var words = InlineArray<32, UInt64>(repeating: 0)

    package subscript(_ count: Count) -> UInt64 {
        get { words[count.rawValue] }
        set { words[count.rawValue] = newValue }
    }

    /// Adds to a count in place: a subscript of another module would copy all counts on each increment.
    package mutating func add(_ count: Count, _ amount: UInt64 = 1) { words[count.rawValue] += amount }

    /// Increments three counters at once, as every cache hit does.
    package mutating func add(_ first: Count, _ second: Count, _ third: Count) {
        words[first.rawValue] += 1
        words[second.rawValue] += 1
        words[third.rawValue] += 1
    }

    package func queries(over transport: Transport) -> UInt64 { words[Int(transport.rawValue)] }

    package mutating func addQueries(_ amount: UInt64 = 1, over transport: Transport) {
        words[Int(transport.rawValue)] += amount
    }

    /// Responses that needed an upstream, whether or not one answered.
    package var upstreamResponses: UInt64 {
        let counts: [Count] = [
            .staleResponses, .providerResponses, .systemResponses, .fallbackResponses, .failureResponses,
        ]
        return counts.reduce(0) { $0 + self[$1] }
    }

    package static func += (sum: inout Tally, other: Tally) {
        for index in sum.words.indices { sum.words[index] += other.words[index] }
    }

    fileprivate init(loading cells: UnsafeMutablePointer<Atomic<UInt64>>) {
        for index in words.indices { words[index] = unsafe cells[index].load(ordering: .relaxed) }
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
        unsafe cells = .allocate(capacity: Tally().words.count)
        for index in Tally().words.indices { unsafe (cells + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe cells.deinitialize(count: Tally().words.count)
        unsafe cells.deallocate()
    }

    /// Publishes the tally. Called only by the thread that owns it.
    package func publish(_ tally: Tally) {
        let before = version.load(ordering: .relaxed)
        version.store(before &+ 1, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        let words = tally.words.span
        for index in words.indices { unsafe cells[index].store(words[index], ordering: .relaxed) }
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
