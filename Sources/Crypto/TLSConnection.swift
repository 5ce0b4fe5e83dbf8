// A verified client connection over memory, without socket or clock: bytes from the socket to plain data and back.
// The handshake verifies the certificate.

package final class TLSConnection {
    package enum Handshake: Equatable, Sendable {
        /// More bytes are needed.
        case underWay
        case done
        /// Holds OpenSSL's text.
        case failed(String)
    }

    package enum Reading: Equatable, Sendable {
        /// The number of bytes, at least 1.
        case bytes(Int)
        /// More bytes are needed.
        case needsMore
        /// The server has closed the connection (close_notify).
        case closed
        case failed(String)
    }

    private let stream: TLSStream
    private var handshakeBytes = 0

    /// - Parameters:
    ///   - context: a context for requests.
    ///   - serverName: sent as SNI (RFC 6066 section 3); nil: none is sent.
    ///   - verifiedName: the name or IP literal that the certificate must match.
    ///   - session: the session to resume, if the server agrees. The server's certificate is not verified again.
    ///   - protocols: for ALPN, instead of the context's; nil: the context's.
    package init(
        _ context: TLSContext, serverName: String?, verifiedName: String, resuming session: TLSSession?,
        protocols: [String]? = nil
    ) throws(CryptoError) {
        let stream = try TLSStream(context, serverName: serverName)
        if let protocols { try stream.offer(protocols) }
        guard stream.requirePeer(verifiedName) else { throw CryptoError(takingQueueAfter: "TLS for \(verifiedName)") }
        if let session { stream.resume(session) }
        self.stream = stream
    }

    /// True if received bytes wait for `shakeHands` or `read`.
    package var hasUnread: Bool { stream.unreadBytes > 0 }

    /// Takes bytes from the socket. `shakeHands` and `read` process them.
    package func receive(_ bytes: Span<UInt8>) { stream.take(bytes) }

    /// Call first without received bytes, then after each `receive` until it is done.
    package func shakeHands() -> Handshake {
        handshakeBytes += stream.unreadBytes
        let step = stream.shakeHands()
        handshakeBytes -= stream.unreadBytes
        guard handshakeBytes <= TLSHandshake.maxHandshakeBytes else {
            return .failed("more than \(TLSHandshake.maxHandshakeBytes) bytes of handshake")
        }
        switch step {
        case .done: return .done
        case .wantsMore: return .underWay
        case .closed: return .failed("close notify")
        case .failed(let reason):
            return .failed(stream.certificateProblem.map { "SSL certificate problem: \($0)" } ?? reason)
        }
    }

    /// Overwrites the beginning of `room`, which must not be empty, with data from the server.
    package func read(over room: inout [UInt8]) -> Reading {
        var count = 0
        switch stream.read(over: &room, count: &count) {
        case .done: return .bytes(count)
        case .wantsMore: return .needsMore
        case .closed: return .closed
        case .failed(let reason): return .failed(reason)
        }
    }

    /// - Returns: the reason of a failure; nil if the data is part of `takeOutgoing`.
    package func send(_ plain: [UInt8]) -> String? { stream.send(plain) ? nil : stream.takeReason() }

    /// Appends the bytes to write to the socket now.
    package func takeOutgoing(into bytes: inout [UInt8]) { stream.takeOutgoing(into: &bytes) }

    /// The protocol that the server chose (ALPN, RFC 7301); nil if none.
    package var protocolName: String? { stream.protocolName }

    /// The group of the key exchange, such as "X25519MLKEM768"; nil before the handshake, and without a group.
    package var keyExchange: String? { stream.keyExchange }

    /// True after a handshake that resumed a session, so the certificate was not verified.
    package var isResumed: Bool { stream.isResumed }

    /// The server's certificate; nil before it was presented.
    package var peerCertificate: PeerCertificate? { stream.peerCertificate }

    /// Returns the session for a later connection; nil if the server has not offered one. With TLS 1.3 it arrives after
    /// the handshake.
    package func resumableSession() -> TLSSession? { stream.resumableSession() }

    deinit { stream.keepSessionAtEnd() }
}
