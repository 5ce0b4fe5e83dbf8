// Who waits for an answer, and how it reaches them: the other half of the resolver's waiters.

import DNSWire
import LinuxIO
import Resolver

/// A client whose question is being fetched.
struct Client {
    enum Path {
        case datagram(DatagramSocket, peer: SocketAddress, askedAddress: [UInt8])
        case stream(StreamServer.ConnectionID)
    }

    let query: Query
    let packet: [UInt8]
    let path: Path
    let address: Address
    let askedAt: Instant
    /// Where it is, if answers depend on that.
    let subnet: ClientSubnet

    /// In the letters of this client.
    var question: Question { Question(query.name(in: packet.span), query.type, from: subnet) }

    /// What a reply to this client may measure.
    var limitBytes: Int {
        switch path {
        case .datagram: query.datagramLimit
        case .stream: StreamFraming.maxMessageBytes
        }
    }
}

extension Client {
    init(_ handover: Handover, in subnet: ClientSubnet = .none) {
        query = handover.query
        packet = handover.packet
        path = .datagram(handover.socket, peer: handover.peer, askedAddress: handover.askedAddress)
        address = Address(handover.peer)
        askedAt = handover.receivedAt
        self.subnet = subnet
    }

    /// The bytes that `write` leaves, within what this client takes.
    func message(_ write: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: limitBytes) { buffer, count in
            var output = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
            write(&output)
            count = unsafe output.finalize(for: buffer)
        }
    }

    /// Within what this client takes.
    func reply(_ answer: RenderedAnswer, _ extendedError: ExtendedError?) -> [UInt8] {
        message { output in
            Reply.write(
                Reply.Body(answer), to: query, in: packet.span, ageSeconds: 0, limit: limitBytes,
                extendedError: extendedError, into: &output)
        }
    }

    /// Without records, and with the reason where the client can read it.
    func failure(_ extendedError: ExtendedError, _ code: ResponseCode = .serverFailure) -> [UInt8] {
        message { output in
            Reply.write(code: code, to: query, in: packet.span, extendedError: extendedError, into: &output)
        }
    }
}

/// Invariant: a waiter's number is in the table from the time it is handed to the resolver until it is answered.
struct Clients {
    /// More than the resolver can hold waiting would be a leak (1,024 lookups; few of them shared by many).
    static let maxWaiting = 16_384

    private var waiting: [Waiter: Client] = [:]
    private var nextNumber: UInt64 = 0

    var count: Int { waiting.count }

    /// Nil when the table is full.
    mutating func add(_ client: Client) -> Waiter? {
        guard waiting.count < Clients.maxWaiting else { return nil }
        let waiter = Waiter(nextNumber, of: ClientID(client.address))
        nextNumber += 1
        waiting[waiter] = client
        return waiter
    }

    /// In the order of their questions.
    var all: [(waiter: Waiter, client: Client)] {
        waiting.map { (waiter: $0.key, client: $0.value) }.sorted { $0.waiter.number < $1.waiter.number }
    }

    mutating func take(_ waiter: Waiter) -> Client? {
        waiting.removeValue(forKey: waiter)
    }
}
