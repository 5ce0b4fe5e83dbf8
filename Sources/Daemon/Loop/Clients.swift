// Clients that wait for the answer to a lookup, keyed by the resolver's waiter, and the paths of their replies.

import DNSWire
import LinuxIO
import Resolver
import Serving

/// A client that waits for a lookup.
struct Client {
    private(set) var query: Query
    let packet: [UInt8]
    let path: ReplyPath
    let address: Address
    let askedAt: Instant
    /// The clients with the same answers.
    let group: ClientGroup
    /// The question, with the name in the client's letter case.
    private(set) var question: Question
}

extension Client {
    init(_ handover: Handover, in group: ClientGroup) {
        query = handover.query
        packet = handover.packet
        question = handover.query.question(in: handover.packet.span, from: group)
        path = handover.path
        address = handover.client
        askedAt = handover.receivedAt
        self.group = group
    }

    mutating func dropDNSSEC() {
        query.dropDNSSEC()
        question = Question(question.name, question.type, from: group)
    }

    /// Returns the bytes that `write` outputs, at most as many as the reply may have.
    func message(_ write: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
        Reply.message(limitBytes: query.replyLimitBytes, write)
    }

    /// Returns the reply message, truncated to whole records if it is too long.
    func reply(_ answer: RenderedAnswer, _ extendedError: ExtendedError?) -> [UInt8] {
        message { output in
            Reply.write(
                Reply.Body(answer), to: query, in: packet.span, ageSeconds: 0, limit: query.replyLimitBytes,
                extendedError: extendedError, into: &output)
        }
    }

    /// Returns a reply without records, with the extended error if the client sent OPT.
    func failure(_ extendedError: ExtendedError, _ code: ResponseCode = .serverFailure) -> [UInt8] {
        message { output in
            Reply.write(code: code, to: query, in: packet.span, extendedError: extendedError, into: &output)
        }
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
