// What is asked of a provider and what comes back, as values. No curl in here.

package struct TransferID: Hashable, Sendable {
    let number: UInt64
}

package struct TransferRequest: Sendable {
    package enum Method: Sendable {
        case get, post
    }

    package var method: Method
    package var endpoint: HTTPEndpoint
    /// Path and query as they stand in the request line, beginning with "/"; already percent-encoded.
    package var target: String
    /// Sent as they are; a name or value with a line break, or a target with a space, is refused as `badRequest`.
    package var headers: [(name: String, value: String)]
    /// Sent with POST only.
    package var body: [UInt8]
    /// From start to the last byte of the reply, waiting for a free connection included.
    package var timeout: Duration
    /// Until the TLS handshake is done; at most `timeout`.
    package var connectTimeout: Duration
    /// Dial anew and hang up after the reply: for a server whose open connections are not trusted.
    package var needsOwnConnection: Bool
    /// A request over a connection that had been there before is stuck when nothing of a reply has come for so long.
    /// When a request with another `subject` is stuck there as well, the connection is dead: both are sent once more
    /// over a new one, within `timeout`; the first reply counts. Nil: never, and `silenceTimeout` has no effect. (A
    /// connection that ends before the reply begins always leads to that.)
    package var stallTimeout: Duration?
    /// The request is sent once more when the peer's kernel has not acknowledged it after a usual round trip, after
    /// this time at the latest; where there is an `elsewhere`, also when no connection stands: then it is the path, and
    /// no slow server. At most `stallTimeout`; nil: as long as that.
    package var silenceTimeout: Duration?
    /// When no kernel has acknowledged anything anywhere after so long, the request fails as `unacknowledged`. Nil:
    /// never.
    package var deadPathTimeout: Duration?
    /// What the request is about. Slow requests about one subject say nothing about their connection.
    package var subject: String
    /// Where it is sent once more instead, each in its turn: when the one before is silent, or cannot be reached. The
    /// first reply counts, and all of it has to be over within `timeout`.
    package var elsewhere: [HTTPEndpoint]
    /// Only a new connection shows a certificate, so this goes together with `needsOwnConnection`.
    package var wantsCertificate: Bool

    package init(
        method: Method = .get, endpoint: HTTPEndpoint, target: String,
        headers: [(name: String, value: String)] = [], body: [UInt8] = [], timeout: Duration,
        connectTimeout: Duration, needsOwnConnection: Bool = false, stallTimeout: Duration? = nil,
        silenceTimeout: Duration? = nil, deadPathTimeout: Duration? = nil, subject: String = "",
        elsewhere: [HTTPEndpoint] = [], wantsCertificate: Bool = false
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
        self.subject = subject
        self.elsewhere = elsewhere
        self.wantsCertificate = wantsCertificate
    }
}

package struct TransferReply: Sendable {
    package enum HTTPVersion: Sendable {
        case http1, http2
    }

    /// 100 to 999 as the server sent it; redirects are not followed, errors are not failures here.
    package let status: Int
    /// In the order of arrival, names as they came (lower case in HTTP/2).
    package let headers: [(name: String, value: String)]
    /// Decoded, at most `Transfer.maxBodyBytes`.
    package let body: [UInt8]
    package let httpVersion: HTTPVersion
    /// 0 if a connection was there already.
    package let newConnections: Int
    /// From the start until the connection stood, that to a proxy included; zero if one was there already.
    package let connectTime: Duration
    /// From the start until the TLS handshake was done; zero without one.
    package let handshakeTime: Duration
    /// From the start, the wait before a retry included.
    package let totalTime: Duration
    /// If it was wanted and the connection is new.
    package let certificate: PeerCertificate?
    /// The request was sent a second time, whichever reply this is.
    package internal(set) var wasRetried = false

    package var connectionWasReused: Bool { newConnections == 0 }

    /// The first header of that name, in any case.
    package func header(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.first { $0.name.lowercased() == wanted }?.value
    }
}
