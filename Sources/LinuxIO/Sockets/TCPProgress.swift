// The state of a TCP connection in the kernel, from TCP_INFO.

import CLinux
package import DNSWire

package struct TCPProgress: Sendable {
    /// Bytes since the connection opened; `acknowledged` by the peer's kernel.
    package let sent, acknowledged, received: UInt64
    package let roundTrip, roundTripVariation: Duration
    package let isEstablished: Bool
}

extension StreamSocket {
    /// The progress of the connection; nil if the socket is not a TCP socket.
    package var progress: TCPProgress? {
        var progress = clinux_tcp_progress()
        guard unsafe clinux_read_tcp_progress(descriptor.raw, &progress) == 0 else { return nil }
        return TCPProgress(
            sent: progress.sent, acknowledged: progress.acknowledged, received: progress.received,
            roundTrip: .microseconds(Int64(progress.round_trip)),
            roundTripVariation: .microseconds(Int64(progress.round_trip_variation)),
            isEstablished: progress.is_established != 0)
    }
}
