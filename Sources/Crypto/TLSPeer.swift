// What a handshake found out, and how it can fail. Facts only, each independent of the others: what follows from them
// is the caller's to decide.

package struct TLSPeer: Equatable, Sendable {
    package enum Trust: Equatable, Sendable {
        /// A chain leads to an authority, whatever the time is.
        case trusted
        /// The reason in OpenSSL's words: "self-signed certificate".
        case untrusted(String)
    }

    /// The server's own.
    package let certificate: PeerCertificate
    package let trust: Trust
    /// By a DNS name among the alternative names. The subject never counts, and a wildcard stands for one label.
    package let matchesName: Bool
    /// The whole chain is valid at the time that was given, if there is a choice of chains one of them; where none is
    /// trusted, the server's own certificate is.
    package let isValidNow: Bool
    /// What ALPN settled on; nil if the server did not choose one that was offered.
    package let protocolName: String?
    /// In OpenSSL's words: "TLSv1.3".
    package let version: String
}

package enum TLSFailure: Equatable, Sendable {
    /// The server ended it with an alert, or gave us a reason to; in OpenSSL's words: "tlsv1 unrecognized name".
    case alert(String)
    /// What came first is no record of TLS.
    case notTLS
}
