// The listeners' messages to the main thread: news of cached answers, and questions that the fast path cannot answer,
// each with the way back to its client.

package import DNSWire
package import LinuxIO

/// A message from a listener to the main thread.
package enum Notice: Sendable {
    case asked(Handover)
    /// An answer close to its expiry was served.
    case due(Question)
    /// An answer was served that `AnswerCache.awaitHit` had marked.
    case servedAgain(Question)

    package var isQuestion: Bool {
        switch self {
        case .asked: true
        case .due, .servedAgain: false
        }
    }
}

/// A question for the main thread, with everything that its reply needs. An object, because it passes through many
/// hands.
package final class Handover: Sendable {
    package let query: Query
    package let packet: [UInt8]
    package let client: Address
    package let path: ReplyPath
    package let receivedAt: Instant
    /// The hash of the question in the cache, for `AnswerCache.mayHaveEntry`; nil: not known.
    package let hash: UInt64?

    init(query: Query, hash: UInt64?, packet: [UInt8], client: Address, path: ReplyPath, receivedAt: Instant) {
        (self.query, self.hash) = (query, hash)
        (self.packet, self.client, self.path, self.receivedAt) = (packet, client, path, receivedAt)
    }

    /// The same question without DO and CD, as `Query.dropDNSSEC` makes it.
    package var withoutDNSSEC: Handover {
        var query = query
        query.dropDNSSEC()
        return Handover(
            query: query, hash: nil, packet: packet, client: client, path: path, receivedAt: receivedAt)
    }
}

/// The way of a reply to its client.
package enum ReplyPath: Sendable {
    /// The socket that received the query. The reply is sent from the local address that was asked, which is empty
    /// unless the socket listens on all addresses.
    case datagram(DatagramSocket, peer: SocketAddress, askedAddress: [UInt8])
    case connection(ConnectionID)
}

/// A client's connection to the stream server.
package struct ConnectionID: Hashable, Sendable {
    /// A place is used again after its connection has ended, a number never.
    let place: Int
    let number: UInt64
}
