// The state of one connection as its requests see it.

import Crypto
import DNSWire
import LinuxIO

final class ConnectionState {
    /// The socket; nil: closed.
    var socket: StreamSocket?
    /// The local port; 0 until TCP is connected.
    var localPort = 0
    /// When TCP was connected, to the proxy if there is one; nil until then.
    var connectedAt: Instant?
    /// When the connection could carry its first request; nil until then.
    var openedAt: Instant?
    /// True from `openedAt` until the connection ends.
    var isOpen = false
    var isSecure = false
    /// The protocol of an open connection.
    var httpVersion = TransferReply.HTTPVersion.http1
    /// The certificate that the server presented in a full handshake, if the first request wants it.
    var certificate: PeerCertificate?
    /// The group of the key exchange; nil without TLS.
    var keyExchange: String?

    /// The progress of the connection; nil until TCP is connected, and after its end.
    var progress: ConnectionProgress? { connectedAt == nil ? nil : socketProgress }

    /// The progress by the kernel, which may have connected TCP without a notice yet; nil after the end.
    var socketProgress: ConnectionProgress? { socket?.progress.map(ConnectionProgress.init) }
}
