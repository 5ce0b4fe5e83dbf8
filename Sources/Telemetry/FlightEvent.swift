// An event of the flight recorder, in full detail. Upstreams are identified by word number; the caller provides the
// time.

package import DNSWire

package struct FlightEvent: Equatable, Sendable {
    /// Nanoseconds since boot, including time in suspend.
    package var nanoseconds: UInt64
    package var kind: Kind
    package var source = Source.none
    /// The record type of the question; nil if there is no question.
    package var type: RecordType?
    package var code = ResponseCode.noError
    /// The extended DNS error code (RFC 8914); nil: none was sent.
    package var extendedError: UInt16?
    /// How long a client waited or a request took, limited to 71 minutes. 0 if the event has no duration.
    package var microseconds: UInt32 = 0
    /// The result, as a word.
    package var outcome = FlightWord.none
    /// The name of an upstream, or the rule or list that blocked the name.
    package var upstream = FlightWord.none
    /// The transport of the query; nil if the event is not about a client.
    package var transport: Transport?
    /// The number of the network that is now in use; 0 if the event is not about a network.
    package var network: UInt32 = 0
    /// The client's address, or the probed address.
    package var address: Address?
    package var name: Name?

    package init(_ kind: Kind, nanoseconds: UInt64) {
        self.kind = kind
        self.nanoseconds = nanoseconds
    }

    package enum Kind: UInt8, CaseIterable, Sendable {
        /// A query was answered.
        case answered = 1
        /// The cache had no answer; the query goes to the main thread.
        case handedOver
        case refused
        case dropped
        case fetchBegun
        case fetchEnded
        case stored
        /// A lookup that refreshes the cache; no client waits for it.
        case refreshBegun
        case probeEnded
        case divergence
        case providerChanged
        case networkChanged
        case settingsReloaded

        /// Whether the event ends a client's query; its address is then the client's. A query that was handed over ends
        /// with a later event.
        package var endsQuery: Bool {
            switch self {
            case .answered, .refused, .dropped: true
            case .handedOver, .fetchBegun, .fetchEnded, .stored, .refreshBegun, .probeEnded, .divergence,
                .providerChanged, .networkChanged, .settingsReloaded:
                false
            }
        }

        /// Whether the address is a client's.
        package var isOfClient: Bool { endsQuery || self == .handedOver }
    }

    /// The source of an answer, by the names of `stats`.
    package enum Source: UInt8, CaseIterable, Sendable {
        case none, cache, stale, provider, system, local, fallback, refused, failure, limited, blocked
    }
}

/// A word by its number in the recorder's word table: names of providers and results.
package struct FlightWord: Hashable, Sendable {
    package let number: UInt16

    init(_ number: UInt16) {
        self.number = number
    }

    /// The empty word.
    package static let none = FlightWord(0)
    /// The words of serving threads have fixed numbers.
    package static let short = FlightWord(1)
    package static let reply = FlightWord(2)
    package static let overload = FlightWord(3)
    package static let rateLimited = FlightWord(4)
    static let fixed = ["", "short", "reply", "overload", "rate-limited"]
}
