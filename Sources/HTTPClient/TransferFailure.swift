// The reason why a transfer brought no reply. An HTTP error status is not a failure.

import CCurl

package enum TransferFailure: Error, Hashable, Sendable {
    /// The port is closed.
    case refused
    /// There is no route, or no usable local address.
    case unreachable
    /// The peer's kernel did not acknowledge the connection or the request in time: the path is dead.
    case unacknowledged
    /// No complete reply arrived in time, although the peer's kernel acknowledged the request.
    case timeout
    /// The handshake or the certificate check failed; holds OpenSSL's text.
    case tls(String)
    /// The proxy is unreachable or refused the connection; holds "status 407" or libcurl's text.
    case proxy(String)
    /// The server closed the connection before the end of the reply. With HTTP/2, libcurl 7.88 also discards a complete
    /// reply that arrives before the server has read a POST body.
    case reset
    /// The decoded body or the headers exceeded their limit.
    case oversized
    /// The reply is not HTTP, or its encoding is invalid.
    case garbage(String)
    /// There were too many transfers at once; nothing was sent.
    case busy
    /// The server refused or closed the connection while other connections carry requests: the request may be sent over
    /// one of those, or to another address.
    case crowded
    /// The connections were closed after a network change. This does not count against the provider.
    case networkChanged
    /// The request is malformed; nothing was sent.
    case badRequest
    /// The machine has no memory or descriptors left, or libcurl lacks a feature.
    case local(String)

    /// Returns the start of a reason: up to 120 bytes, which fit OpenSSL's longest error text and a log line.
    static func shortened(_ reason: String) -> String { String(decoding: reason.utf8.prefix(120), as: UTF8.self) }

    /// True if another address of the same provider may work.
    package var isAddress: Bool {
        switch self {
        case .refused, .unreachable, .unacknowledged, .timeout, .tls, .reset, .crowded: true
        case .proxy, .networkChanged, .oversized, .garbage, .badRequest, .busy, .local: false
        }
    }

    /// Stable names of the failures for counters.
    package var kind: String {
        switch self {
        case .refused: "refused"
        case .unreachable: "unreachable"
        case .unacknowledged: "unacknowledged"
        case .timeout: "timeout"
        case .tls: "tls"
        case .proxy: "proxy"
        case .reset: "reset"
        case .oversized: "oversized"
        case .garbage: "garbage"
        case .busy: "busy"
        case .crowded: "crowded"
        case .networkChanged: "network-changed"
        case .badRequest: "bad-request"
        case .local: "local"
        }
    }

    /// - Parameters:
    ///   - systemError: the errno of a failed connect or receive, 0 if there was none.
    ///   - isConnected: true if TCP was connected.
    ///   - text: libcurl's error text.
    init(_ code: CURLcode, systemError: Int32, text: String, overTLS: Bool, isConnected: Bool) {
        switch code {
        case CURLE_COULDNT_CONNECT: self = TransferFailure(connecting: systemError)
        case CURLE_OPERATION_TIMEDOUT: self = isConnected ? .timeout : .unacknowledged
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_USE_SSL_FAILED:
            self = .tls(text)
        case CURLE_RECV_ERROR:
            // libcurl reports broken chunks with this code and no errno. An early end over TLS has no errno either.
            self = systemError == 0 && !overTLS ? .garbage(text) : .reset
        case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_ERROR, CURLE_HTTP2_STREAM,
            // The server sent GOAWAY. HTTP/2 protocol errors arrive as receive errors.
            CURLE_HTTP2:
            self = .reset
        // libcurl reports a header line without end as out of memory.
        case CURLE_FILESIZE_EXCEEDED, CURLE_OUT_OF_MEMORY: self = .oversized
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING,
            CURLE_WRITE_ERROR:
            self = .garbage(text)
        case CURLE_URL_MALFORMAT: self = .badRequest
        default: self = .local(text)
        }
    }

    /// - Parameter systemError: the errno of a failed connect.
    init(connecting systemError: Int32) {
        switch systemError {
        case ECONNREFUSED: self = .refused
        case ETIMEDOUT: self = .unacknowledged
        case ECONNRESET, EPIPE: self = .reset
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: self = .local("no descriptors or memory for a socket")
        default: self = .unreachable
        }
    }
}
