// Clients that wait for the answer to a lookup, keyed by the resolver's waiter, and the paths of their replies.

import DNSWire
import LinuxIO
import Resolver
import Serving

/// A client's question that the listeners have handed over.
struct Client {
    let handover: Handover
    /// The question, with the name in the client's letter case.
    let question: Question

    var query: Query { handover.query }
    var address: Address { handover.client }
    var askedAt: Instant { handover.receivedAt }

    /// Writes the reply message, truncated to whole records if it is too long.
    ///
    /// - Parameter extendedError: stands before the answer's own.
    @_lifetime(output: copy output)
    func write(
        _ answer: RenderedAnswer, after extendedError: ExtendedError? = nil, into output: inout OutputSpan<UInt8>
    ) {
        let packet = handover.packet
        Reply.write(
            Reply.Body(answer), to: query, in: packet.span, ageSeconds: 0, limit: query.replyLimitBytes,
            extendedError: extendedError, into: &output)
    }

    /// Writes a reply without records, with the extended error if the client sent OPT.
    @_lifetime(output: copy output)
    func write(_ code: ResponseCode, _ extendedError: ExtendedError, into output: inout OutputSpan<UInt8>) {
        let packet = handover.packet
        Reply.write(code: code, to: query, in: packet.span, extendedError: extendedError, into: &output)
    }
}

/// Invariant: a waiter is in the table from the time it is passed to the resolver until it is answered. The low bits of
/// its number are its place.
struct Clients {
    /// Bound of waiting clients: as many as lookups, and as many again that share one.
    static let maxWaiting = 2 * Bounds.maxLookups
    private static let placeBits: UInt64 = 16

    private var places: [Client?] = []
    /// The number of the last waiter in each place.
    private var numbers: [UInt64] = []
    private var freePlaces: [Int] = []
    private var arrived: UInt64 = 0

    var count: Int { places.count - freePlaces.count }

    /// Returns nil when the table is full.
    mutating func add(_ client: Client) -> Waiter? {
        guard count < Clients.maxWaiting else { return nil }
        let place = freePlaces.popLast() ?? places.count
        if place == places.count {
            places.append(nil)
            numbers.append(0)
        }
        let number = arrived << Clients.placeBits | UInt64(place)
        arrived += 1
        (places[place], numbers[place]) = (client, number)
        return Waiter(number, of: ClientID(client.address))
    }

    /// All waiting clients, in the order of arrival.
    var all: [(waiter: Waiter, client: Client)] {
        places.indices.compactMap { place in
            places[place].map { (Waiter(numbers[place], of: ClientID($0.address)), $0) }
        }.sorted { $0.waiter.number < $1.waiter.number }
    }

    mutating func take(_ waiter: Waiter) -> Client? {
        let place = Int(waiter.number & (1 << Clients.placeBits - 1))
        guard place < places.count, numbers[place] == waiter.number, let client = places[place].take() else {
            return nil
        }
        freePlaces.append(place)
        return client
    }
}
