// The result of a handshake: independent facts about the server, or the failure.

package struct TLSPeer: Equatable, Sendable {
    package enum Trust: Equatable, Sendable {
        /// A chain leads to an authority, regardless of the time.
        case trusted
        /// OpenSSL's reason, such as "self-signed certificate".
        case untrusted(String)
    }

    /// The server's own certificate.
    package let certificate: PeerCertificate
    package let trust: Trust
    /// True if a DNS alternative name matches. The subject is ignored, and a wildcard matches one label.
    package let matchesName: Bool
    /// True if every certificate of some trusted chain is valid at the given time. Without a trusted chain, only the
    /// server's own certificate counts.
    package let isValidNow: Bool
    /// The ALPN protocol; nil if the server selected none of those offered.
    package let protocolName: String?
    /// OpenSSL's name of the version: "TLSv1.3".
    package let version: String
}

package enum TLSFailure: Equatable, Sendable {
    /// The server sent an alert or caused one; OpenSSL's text: "tlsv1 unrecognized name".
    case alert(String)
    /// The first bytes are not a TLS record.
    case notTLS
}
