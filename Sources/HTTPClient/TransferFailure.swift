// Why a transfer brought no reply, in the words that statistics and the resolver use. An HTTP status is no failure.

import CCurl

package enum TransferFailure: Error, Hashable, Sendable {
    /// The port is closed.
    case refused
    /// No route, or no local address to dial from.
    case unreachable
    /// The peer's kernel has not acknowledged the connection or the request in time: the path is dead.
    case unacknowledged
    /// No complete reply in time, although the peer's kernel has the request.
    case timeout
    /// The handshake or the check of the certificate failed; the text is OpenSSL's.
    case tls(String)
    /// The proxy can't be reached, or does not let us through: "status 407", or libcurl's words.
    case proxy(String)
    /// The server closed early: before the reply, or before its end. libcurl 7.88 also drops a whole reply that a
    /// server gives over HTTP/2 before it has read the body of a POST.
    case reset
    /// The decoded body or the headers passed their bound.
    case oversized
    /// What came is not HTTP, or its encoding is broken.
    case garbage(String)
    /// Too many transfers at once; nothing was sent.
    case busy
    /// The connections were renewed while the transfer ran. Says nothing about the provider.
    case networkChanged
    /// The request cannot be sent as it is; nothing was sent.
    case badRequest
    /// The machine ran out of memory or descriptors, or libcurl lacks something.
    case local(String)

    /// Another address of the same provider may do better.
    package var isAddress: Bool {
        switch self {
        case .refused, .unreachable, .unacknowledged, .timeout, .tls, .reset: true
        case .proxy, .networkChanged, .oversized, .garbage, .badRequest, .busy, .local: false
        }
    }

    /// Stable, for counters.
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
        case .networkChanged: "network-changed"
        case .badRequest: "bad-request"
        case .local: "local"
        }
    }

    /// - Parameters:
    ///   - systemError: the errno of a failed connect or receive, 0 if there was none.
    ///   - isConnected: whether TCP was connected.
    ///   - text: libcurl's own words.
    init(_ code: CURLcode, systemError: Int32, text: String, overTLS: Bool, isConnected: Bool) {
        switch code {
        case CURLE_COULDNT_CONNECT: self = TransferFailure.connecting(systemError)
        case CURLE_OPERATION_TIMEDOUT: self = isConnected ? .timeout : .unacknowledged
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_USE_SSL_FAILED:
            self = .tls(text)
        case CURLE_RECV_ERROR:
            // Broken chunks come as this code too; then no call has failed. Over TLS an early end has none either.
            self = systemError == 0 && !overTLS ? .garbage(text) : .reset
        case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_ERROR, CURLE_HTTP2_STREAM,
            // A session that said goodbye; what breaks HTTP/2 comes as an error of receiving.
            CURLE_HTTP2:
            self = .reset
        // Of a header line without end libcurl says that it has no memory.
        case CURLE_FILESIZE_EXCEEDED, CURLE_OUT_OF_MEMORY: self = .oversized
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING,
            CURLE_WRITE_ERROR:
            self = .garbage(text)
        case CURLE_URL_MALFORMAT: self = .badRequest
        default: self = .local(text)
        }
    }

    private static func connecting(_ systemError: Int32) -> TransferFailure {
        switch systemError {
        case ECONNREFUSED: .refused
        case ETIMEDOUT: .unacknowledged
        case ECONNRESET, EPIPE: .reset
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: .local("no descriptors or memory for a socket")
        default: .unreachable
        }
    }
}
