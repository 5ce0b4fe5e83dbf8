// What the flight recorder keeps: one event at full detail, as a value. Reads no clock and knows no upstream but by
// word.

package import DNSWire

package struct FlightEvent: Equatable, Sendable {
    /// Since boot, suspended time included.
    package var nanoseconds: UInt64
    package var kind: Kind
    package var source = Source.none
    /// Nil where no question is known.
    package var type: RecordType?
    package var code = ResponseCode.noError
    /// RFC 8914's number; nil: none was sent.
    package var extendedError: UInt16?
    /// How long a client waited or a request took, cut to 71 minutes; 0 where nothing took time.
    package var microseconds: UInt32 = 0
    /// What came of it, in a word.
    package var outcome = FlightWord.none
    /// The name of an upstream.
    package var upstream = FlightWord.none
    package var transport = Transport.none
    /// The number of the one that is there now; 0: it is about none.
    package var network: UInt32 = 0
    /// A client's, or the one that was probed.
    package var address: Address?
    package var name: Name?

    package init(_ kind: Kind, nanoseconds: UInt64) {
        self.kind = kind
        self.nanoseconds = nanoseconds
    }

    package enum Kind: UInt8, CaseIterable, Sendable {
        /// A query was answered.
        case answered = 1
        /// The cache could not answer, and the main thread takes over.
        case handedOver
        case refused
        case dropped
        case fetchBegun
        case fetchEnded
        case stored
        /// A lookup that nobody waits for.
        case refreshBegun
        case probeEnded
        case divergence
        case providerChanged
        case networkChanged
        case settingsReloaded

        /// The end of a client's query; the address is the client's. One that was handed over ends later.
        package var endsQuery: Bool {
            switch self {
            case .answered, .refused, .dropped: true
            case .handedOver, .fetchBegun, .fetchEnded, .stored, .refreshBegun, .probeEnded, .divergence,
                .providerChanged, .networkChanged, .settingsReloaded:
                false
            }
        }

        /// The address is that of somebody who asks.
        package var isOfClient: Bool { endsQuery || self == .handedOver }
    }

    /// Where an answer came from, in the words of `stats`.
    package enum Source: UInt8, CaseIterable, Sendable {
        case none, cache, stale, provider, system, local, fallback, refused, failure, limited
    }

    package enum Transport: UInt8, CaseIterable, Sendable {
        case none, udp, tcp
    }
}

/// A word of the recorder's table, which says what it is: names of providers and outcomes.
package struct FlightWord: Hashable, Sendable {
    package let number: UInt16

    init(_ number: UInt16) {
        self.number = number
    }

    /// The empty word.
    package static let none = FlightWord(0)
    /// Those that serving threads use are at fixed places.
    package static let short = FlightWord(1)
    package static let reply = FlightWord(2)
    package static let overload = FlightWord(3)
    package static let rateLimited = FlightWord(4)
    static let fixed = ["", "short", "reply", "overload", "rate-limited"]
}
