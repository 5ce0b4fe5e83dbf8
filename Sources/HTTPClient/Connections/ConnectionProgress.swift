// Bytes sent, acknowledged and received on a TCP connection.

import DNSWire
import LinuxIO

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

    init(_ tcp: TCPProgress) {
        (sent, acknowledged, received) = (tcp.sent, tcp.acknowledged, tcp.received)
        isEstablished = tcp.isEstablished
        // RFC 6298 section 2.3 with a larger minimum: a repeated request costs less than a late one.
        let slack = max(tcp.roundTripVariation * 4, tcp.roundTrip, ConnectionProgress.delayedAcknowledgement)
        usualAcknowledgement = tcp.roundTrip + slack
    }

    var isAcknowledged: Bool { isEstablished && acknowledged == sent }
}
