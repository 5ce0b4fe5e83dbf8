// A request to a provider and its reply, as plain values without libcurl types.

package import DNSWire

package struct TransferID: Hashable, Sendable {
    let number: UInt64

    package func _rawHashValue(seed: Int) -> Int { QuickHash.value(of: number, seed: seed) }
}

package struct TransferRequest: Sendable {
    package enum Method: Sendable {
        case get, post
    }

    package var method: Method
    package var endpoint: HTTPEndpoint
    /// Path and query as they stand in the request line, beginning with "/"; already percent-encoded.
    package var target: String
    /// The headers, sent unchanged. A name or value with a line break, or a target with a space, fails as `badRequest`.
    package var headers: [(name: String, value: String)]
    /// The body, sent with POST only.
    package var body: [UInt8]
    /// Time from the start to the last byte of the reply, including the wait for a free connection.
    package var timeout: Duration
    /// Time from the start to the end of the TLS handshake; at most `timeout`.
    package var connectTimeout: Duration
    /// Opens a new connection for the request and closes it after the reply, for a server with unreliable open
    /// connections.
    package var needsOwnConnection: Bool
    /// A request over a reused connection is stuck if no reply byte arrives within this time. If a request with another
    /// `subject` is stuck on the connection too, it is dead. Both requests are then repeated over a new connection,
    /// within `timeout`; the first reply wins. Nil: never, and `silenceTimeout` has no effect. A connection that closes
    /// before the reply always causes a repeat.
    package var stallTimeout: Duration?
    /// Repeats the request if the peer's kernel has not acknowledged it after a usual round trip, or after this time at
    /// the latest. With `elsewhere`, this also covers a connection that is not established. At most `stallTimeout`;
    /// nil: equal to it.
    package var silenceTimeout: Duration?
    /// If no peer kernel has acknowledged any attempt within this time, the request fails as `unacknowledged`. Nil:
    /// never.
    package var deadPathTimeout: Duration?
    /// Reports the request in `takeUnacknowledged` if the peer's kernel has acknowledged neither its first attempt nor
    /// its retry within this time. The request continues. Nil: never.
    package var unacknowledgedAfter: Duration?
    /// Returns the name that the request asks about. Several slow requests with one subject do not indicate a bad
    /// connection.
    package var subject: (@Sendable () -> Name)?
    /// The owner's number of the request, the same each time that it is sent.
    package var number: Int?
    /// Endpoints to try in turn if the previous one is silent or unreachable. The first reply wins; `timeout` covers
    /// all attempts.
    package var elsewhere: [HTTPEndpoint]
    /// Requests the certificate of the server. Requires `needsOwnConnection`, since only a new connection presents one.
    package var wantsCertificate: Bool

    package init(
        method: Method = .get, endpoint: HTTPEndpoint, target: String,
        headers: [(name: String, value: String)] = [], body: [UInt8] = [], timeout: Duration,
        connectTimeout: Duration, needsOwnConnection: Bool = false, stallTimeout: Duration? = nil,
        silenceTimeout: Duration? = nil, deadPathTimeout: Duration? = nil,
        unacknowledgedAfter: Duration? = nil, subject: (@Sendable () -> Name)? = nil, elsewhere: [HTTPEndpoint] = [],
        wantsCertificate: Bool = false
    ) {
        self.method = method
        self.endpoint = endpoint
        self.target = target
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.needsOwnConnection = needsOwnConnection
        self.stallTimeout = stallTimeout
        self.silenceTimeout = silenceTimeout
        self.deadPathTimeout = deadPathTimeout
        self.unacknowledgedAfter = unacknowledgedAfter
        self.subject = subject
        self.elsewhere = elsewhere
        self.wantsCertificate = wantsCertificate
    }
}

package struct TransferReply: Sendable {
    package enum HTTPVersion: Sendable {
        case http1, http2
    }

    /// Maximum size of a body. An HTTPDNS reply has a few hundred bytes and a DNS message at most 65,535. The bound
    /// applies before and after decoding, which also stops compression bombs.
    static let maxBodyBytes = 65_536

    /// The status, 100 to 999, as the server sent it. Redirects are not followed; error codes are not failures here.
    package let status: Int
    /// The headers in order of arrival, names as received (lower case in HTTP/2).
    package let headers: [(name: String, value: String)]
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
    /// True if the request was sent twice, whichever attempt was answered.
    package internal(set) var wasRetried = false

    package var connectionWasReused: Bool { newConnections == 0 }
}
