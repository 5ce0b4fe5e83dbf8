// The way out for the main thread's replies, whatever brought their questions.

package import DNSWire
import LinuxIO

package struct ClientReplies: ~Copyable {
    private let streams: StreamServer
    /// Replies that leave with one system call.
    private var datagrams = DatagramReplies(replyBytes: EDNS.ourPayloadBytes)

    package init(_ streams: StreamServer) {
        self.streams = streams
    }

    /// Sends a reply, a datagram with the next `flush`. An empty message ends the question without a reply, which a
    /// connection counts as in flight until then.
    ///
    /// - Returns: false if the client has gone.
    package mutating func send(_ message: [UInt8], along path: ReplyPath, now: Instant) -> Bool {
        switch path {
        case .datagram(let socket, let peer, let askedAddress):
            if !message.isEmpty { datagrams.add(message.span, to: peer, from: askedAddress, through: socket) }
            return true
        case .connection(let id): return streams.send(message, to: id, now: now)
        }
    }

    /// Sends the queued datagrams. To be called before the loop sleeps.
    ///
    /// - Returns: the number of replies that their sockets did not accept.
    package mutating func flush() -> Int {
        datagrams.send()
        return datagrams.takeUnsent()
    }
}
