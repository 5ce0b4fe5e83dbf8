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

    /// Sends the reply that `write` outputs, a datagram with the next `flush`. Sends nothing if it outputs nothing.
    ///
    /// - Parameter limitBytes: the most that the reply may have, such as `Query.replyLimitBytes`.
    /// - Returns: false if the client has gone.
    package mutating func send(
        along path: ReplyPath, limitBytes: Int, now: Instant, _ write: (inout OutputSpan<UInt8>) -> Void
    ) -> Bool {
        switch path {
        case .datagram(let socket, let peer, let askedAddress):
            datagrams.add(to: peer, from: askedAddress, through: socket, write)
            return true
        case .connection(let id):
            let message = Reply.message(limitBytes: limitBytes, write)
            return message.isEmpty || streams.send(message, to: id, now: now)
        }
    }

    /// Ends a question without a reply, which a connection counts as in flight until then.
    package func dismiss(_ path: ReplyPath, now: Instant) {
        if case .connection(let id) = path { _ = streams.send([], to: id, now: now) }
    }

    /// Sends the queued datagrams. To be called before the loop sleeps.
    ///
    /// - Returns: the number of replies that their sockets did not accept.
    package mutating func flush() -> Int {
        datagrams.send()
        return datagrams.takeUnsent()
    }
}
