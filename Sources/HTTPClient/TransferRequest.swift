// A request to a provider and its reply.

package import Crypto
package import DNSWire

package struct TransferID: Hashable, Sendable {
    let number: UInt64
    /// The owner's number of the request.
    package let owner: Int?

    init(number: UInt64, owner: Int? = nil) { (self.number, self.owner) = (number, owner) }

    package func _rawHashValue(seed: Int) -> Int { QuickHash.value(of: number, seed: seed) }
}

/// A request with its endpoint and time limits. A class, so that the steps of a request share it.
package final class TransferRequest: Sendable {
    /// The message. The headers are sent unchanged. A name or value with a line break, or a target with a space, fails
    /// as `badRequest`.
    package let message: HTTPRequest
    package let endpoint: HTTPEndpoint
    /// Time from the start to the last byte of the reply, including the wait for a free connection.
    package let timeout: Duration
    /// Time from the start to the end of the TLS handshake; at most `timeout`.
    package let connectTimeout: Duration
    /// Opens a new connection for the request and closes it after the reply, for a server with unreliable open
    /// connections.
    package let needsOwnConnection: Bool
    /// A request over a reused connection is stuck if no reply byte arrives within this time. If a request with another
    /// `subject` is stuck on the connection too, it is dead. Both requests are then repeated over a new connection,
    /// within `timeout`; the first reply wins. Nil: never, and `silenceTimeout` has no effect. A connection that closes
    /// before the reply always causes a repeat.
    package let stallTimeout: Duration?
    /// Repeats the request if the peer's kernel has not acknowledged it after a usual round trip, or after this time at
    /// the latest. With `elsewhere`, this also covers a connection that is not established. At most `stallTimeout`;
    /// nil: equal to it.
    package let silenceTimeout: Duration?
    /// If no peer kernel has acknowledged any attempt within this time, the request fails as `unacknowledged`. Nil:
    /// never.
    package let deadPathTimeout: Duration?
    /// Reports the request in `takeUnacknowledged` if the peer's kernel has acknowledged neither its first attempt nor
    /// its retry within this time. The request continues. Nil: never.
    package let unacknowledgedAfter: Duration?
    /// Returns the name that the request asks about. Several slow requests with one subject do not indicate a bad
    /// connection.
    package let subject: (@Sendable () -> Name)?
    /// The owner's number of the request, the same each time that it is sent.
    package let number: Int?
    /// Endpoints to try in turn if the previous one is silent or unreachable. The first reply wins; `timeout` covers
    /// all attempts.
    package let elsewhere: [HTTPEndpoint]
    /// Requests the certificate of the server. Requires `needsOwnConnection`, since only a new connection presents one.
    package let wantsCertificate: Bool

    package init(
        _ message: HTTPRequest, to endpoint: HTTPEndpoint, timeout: Duration, connectTimeout: Duration,
        needsOwnConnection: Bool = false, stallTimeout: Duration? = nil, silenceTimeout: Duration? = nil,
        deadPathTimeout: Duration? = nil, unacknowledgedAfter: Duration? = nil, subject: (@Sendable () -> Name)? = nil,
        number: Int? = nil, elsewhere: [HTTPEndpoint] = [], wantsCertificate: Bool = false
    ) {
        self.message = message
        self.endpoint = endpoint
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.needsOwnConnection = needsOwnConnection
        self.stallTimeout = stallTimeout
        self.silenceTimeout = silenceTimeout
        self.deadPathTimeout = deadPathTimeout
        self.unacknowledgedAfter = unacknowledgedAfter
        self.subject = subject
        self.number = number
        self.elsewhere = elsewhere
        self.wantsCertificate = wantsCertificate
    }

    /// Returns the request with the time that is left.
    func within(_ timeout: Duration) -> TransferRequest {
        moved(to: endpoint, elsewhere: elsewhere, timeout: timeout, deadPathTimeout: deadPathTimeout)
    }

    /// Returns the request for another endpoint, with the time that is left.
    func moved(
        to endpoint: HTTPEndpoint, elsewhere: [HTTPEndpoint], timeout: Duration, deadPathTimeout: Duration?
    ) -> TransferRequest {
        TransferRequest(
            message, to: endpoint, timeout: timeout, connectTimeout: connectTimeout,
            needsOwnConnection: needsOwnConnection, stallTimeout: stallTimeout, silenceTimeout: silenceTimeout,
            deadPathTimeout: deadPathTimeout, unacknowledgedAfter: unacknowledgedAfter, subject: subject,
            number: number, elsewhere: elsewhere, wantsCertificate: wantsCertificate)
    }
}

/// A class, so that no step copies it.
package final class TransferReply {
    package enum HTTPVersion: Sendable {
        case http1, http2
    }

    /// Maximum size of a body. An HTTPDNS reply has a few hundred bytes and a DNS message at most 65,535. The bound
    /// applies before and after decoding, which also stops compression bombs.
    static let maxBodyBytes = 65_536

    /// The status, 200 to 999, as the server sent it. Redirects are not followed; error codes are not failures here.
    package let status: Int
    /// The headers in order of arrival, names as received (lower case in HTTP/2).
    package let headers: HTTPHeaders
    /// The decoded body, at most `maxBodyBytes`.
    package let body: [UInt8]
    package let httpVersion: HTTPVersion
    /// Number of connections opened; 0 for a reused connection.
    package let newConnections: Int
    /// Time from the start to the established connection, including a proxy's; zero for a reused connection.
    package let connectTime: Duration
    /// Time from the start to the end of the TLS handshake; zero without a handshake.
    package let handshakeTime: Duration
    /// Time from the start, including the wait before a retry.
    package let totalTime: Duration
    /// The certificate, if requested and the connection is new.
    package let certificate: PeerCertificate?
    /// The group of the key exchange if the connection is new and uses TLS, such as "X25519MLKEM768".
    package let keyExchange: String?
    /// True if the request was sent twice, whichever attempt was answered.
    package internal(set) var wasRetried = false

    init(
        status: Int, headers: HTTPHeaders, body: [UInt8], httpVersion: HTTPVersion, newConnections: Int,
        connectTime: Duration, handshakeTime: Duration, totalTime: Duration, certificate: PeerCertificate?,
        keyExchange: String?
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.httpVersion = httpVersion
        self.newConnections = newConnections
        self.connectTime = connectTime
        self.handshakeTime = handshakeTime
        self.totalTime = totalTime
        self.certificate = certificate
        self.keyExchange = keyExchange
    }

    package var connectionWasReused: Bool { newConnections == 0 }
}
