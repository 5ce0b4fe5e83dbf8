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
    @_lifetime(output: copy output)
    func write(_ answer: RenderedAnswer, _ extendedError: ExtendedError?, into output: inout OutputSpan<UInt8>) {
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

/// Invariant: a waiter is in the table from the time it is passed to the resolver until it is answered.
struct Clients {
    /// Bound of waiting clients: as many as lookups, and as many again that share one.
    static let maxWaiting = 2 * Bounds.maxLookups

    private var waiting: [Waiter: Client] = [:]
    private var nextNumber: UInt64 = 0

    var count: Int { waiting.count }

    /// Returns nil when the table is full.
    mutating func add(_ client: Client) -> Waiter? {
        guard waiting.count < Clients.maxWaiting else { return nil }
        let waiter = Waiter(nextNumber, of: ClientID(client.address))
        nextNumber += 1
        waiting[waiter] = client
        return waiter
    }

    /// All waiting clients, in the order of arrival.
    var all: [(waiter: Waiter, client: Client)] {
        waiting.map { (waiter: $0.key, client: $0.value) }.sorted { $0.waiter.number < $1.waiter.number }
    }

    mutating func take(_ waiter: Waiter) -> Client? {
        waiting.removeValue(forKey: waiter)
    }
}
