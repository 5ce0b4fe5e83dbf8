// Bytes sent, acknowledged and received on a TCP connection, from TCP_INFO.

import CCurl
import DNSWire

// Missing acknowledgements mean silence. With a short timeout instead of them, each slow server would cost a second
// request. HTTP/1.1 has no means to ask whether a connection still works.
struct ConnectionProgress {
    /// Bytes since the connection opened; `acknowledged` by the peer's kernel.
    let sent, acknowledged, received: UInt64
    /// The peer's kernel usually acknowledges a request within this time.
    let usualAcknowledgement: Duration
    let isEstablished: Bool

    /// Linux delays an acknowledgement by 40 ms and a clock tick if it has no data to send with it.
    private static let delayedAcknowledgement: Duration = .milliseconds(60)

    /// Returns nil if the descriptor is not a connected TCP socket.
    init?(_ descriptor: Int32) {
        var progress = ccurl_tcp_progress()
        guard unsafe ccurl_read_progress(descriptor, &progress) != 0 else { return nil }
        (sent, acknowledged, received) = (progress.sent, progress.acknowledged, progress.received)
        isEstablished = progress.is_established != 0
        let roundTrip = Duration.microseconds(Int64(progress.round_trip))
        // RFC 6298 section 2.3 with a larger minimum: a repeated request costs less than a late one.
        let variation = Duration.microseconds(4 * Int64(progress.round_trip_variation))
        usualAcknowledgement = roundTrip + max(variation, roundTrip, ConnectionProgress.delayedAcknowledgement)
    }

    var isAcknowledged: Bool { isEstablished && acknowledged == sent }
}
