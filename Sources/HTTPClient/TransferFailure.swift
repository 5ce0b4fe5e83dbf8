// The reason why a transfer brought no reply. An HTTP error status is not a failure.

import Glibc

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
    /// The proxy is unreachable or refused the connection; holds "status 407" or another reason.
    case proxy(String)
    /// The server closed the connection before the end of the reply.
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
    /// The machine has no memory or descriptors left.
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

    /// Attributes the failure to the proxy if there is one, except a timeout and a fault of this machine.
    ///
    /// - Parameter systemError: the errno of a failed connect.
    init(connecting systemError: Int32, to endpoint: HTTPEndpoint) {
        let failure = TransferFailure(connecting: systemError)
        switch failure {
        case .unacknowledged, .local: self = failure
        default: self = endpoint.proxy == nil ? failure : .proxy("no connection: \(failure.kind)")
        }
    }

    private init(connecting systemError: Int32) {
        switch systemError {
        case ECONNREFUSED: self = .refused
        case ETIMEDOUT: self = .unacknowledged
        case ECONNRESET, EPIPE: self = .reset
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: self = .local("no descriptors or memory for a socket")
        default: self = .unreachable
        }
    }
}
