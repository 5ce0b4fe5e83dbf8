// OpenSSL's state of one connection with two memory buffers; frees all three. Every call leaves this thread's error
// queue empty, since OpenSSL reads its own failures from it.

import COpenSSL

/// A session of a server, to be resumed by one later connection (RFC 8446 section 4.6.1). It holds a secret.
@safe package final class TLSSession {
    let pointer: OpaquePointer

    /// Takes over the reference.
    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe SSL_SESSION_free(pointer) }
}

@safe struct TLSStream: ~Copyable {
    enum Step {
        case done
        case wantsMore
        /// The server has closed the connection (close_notify).
        case closed
        case failed(String)
    }

    /// The size of a record's content.
    private static let chunkBytes = 16 << 10

    private let tls: OpaquePointer
    /// `tls` owns the buffers.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private let context: TLSContext

    /// - Parameter serverName: sent as SNI; nil: none is sent.
    init(_ context: TLSContext, serverName: String?) throws(CryptoError) {
        ERR_clear_error()
        guard let tls = unsafe SSL_new(context.pointer) else { throw CryptoError(takingQueueAfter: "TLS") }
        let incoming = unsafe BIO_new(BIO_s_mem())
        let outgoing = unsafe BIO_new(BIO_s_mem())
        guard let incoming = unsafe incoming, let outgoing = unsafe outgoing,
            serverName.map({ unsafe copenssl_set_server_name(tls, $0) == 1 }) ?? true
        else {
            unsafe SSL_free(tls)
            unsafe BIO_free(incoming)
            unsafe BIO_free(outgoing)
            throw CryptoError(takingQueueAfter: "TLS to \(serverName ?? "an address")")
        }
        unsafe SSL_set_bio(tls, incoming, outgoing)
        unsafe SSL_set_connect_state(tls)
        unsafe self.tls = tls
        unsafe self.incoming = incoming
        unsafe self.outgoing = outgoing
        self.context = context
    }

    deinit { unsafe SSL_free(tls) }

    /// Bytes that OpenSSL has not processed yet.
    var unreadBytes: Int { unsafe BIO_ctrl_pending(incoming) }

    func take(_ bytes: Span<UInt8>) {
        guard !bytes.isEmpty else { return }
        var written = 0
        unsafe bytes.withUnsafeBufferPointer { _ = unsafe BIO_write_ex(incoming, $0.baseAddress, $0.count, &written) }
        precondition(written == bytes.count, "a buffer in memory takes everything")
    }

    /// Appends the bytes to write to the socket now.
    func takeOutgoing(into bytes: inout [UInt8]) {
        let pending = unsafe BIO_ctrl_pending(outgoing)
        guard pending > 0 else { return }
        bytes.append(addingCapacity: pending) { room in
            unsafe room.withUnsafeMutableBufferPointer { free, count in
                _ = unsafe BIO_read_ex(outgoing, free.baseAddress, free.count, &count)
            }
        }
    }

    func shakeHands() -> Step {
        clearErrors()
        return step(after: unsafe SSL_do_handshake(tls))
    }

    /// Returns `done` if it appended data; then there may be more.
    func read(into plain: inout [UInt8]) -> Step {
        var chunk = [UInt8](repeating: 0, count: TLSStream.chunkBytes)
        var count = 0
        let step = read(over: &chunk, count: &count)
        plain += chunk[..<count]
        return step
    }

    /// Overwrites the beginning of `room`, which must not be empty. Returns `done` if `count` is positive; then there
    /// may be more.
    func read(over room: inout [UInt8], count: inout Int) -> Step {
        clearErrors()
        count = 0
        return step(after: unsafe SSL_read_ex(tls, &room, room.count, &count))
    }

    /// - Returns: false on failure; `takeReason` returns the reason.
    func send(_ plain: [UInt8]) -> Bool {
        clearErrors()
        var count = 0
        return unsafe SSL_write_ex(tls, plain, plain.count, &count) == 1
    }

    func takeReason() -> String { CryptoError.takeReason() ?? "TLS failed without a reason" }

    /// Call after the handshake. Returns nil if the server presented no certificate or it could not be verified.
    func peer(name: String, nowSeconds: Int64) -> TLSPeer? {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let leaf = unsafe SSL_get0_peer_certificate(tls), let certificate = peerCertificate else { return nil }
        let chain = unsafe ShownChain(
            leaf: leaf, shown: SSL_get_peer_cert_chain(tls), store: SSL_CTX_get_cert_store(context.pointer),
            securityLevel: SSL_get_security_level(tls))
        guard let trust = chain.trust(nowSeconds: nowSeconds) else { return nil }
        return TLSPeer(
            certificate: certificate, trust: trust.verdict, matchesName: chain.matches(name),
            isValidNow: trust.isValidNow, protocolName: protocolName,
            version: unsafe String(cString: SSL_get_version(tls)))
    }

    var peerCertificate: PeerCertificate? {
        unsafe SSL_get0_peer_certificate(tls).flatMap { unsafe PeerCertificate($0) }
    }

    /// Offers these protocols instead of the context's; call before the handshake.
    func offer(_ protocols: [String]) throws(CryptoError) {
        let wire = try TLSContext.wire(protocols)
        guard unsafe SSL_set_alpn_protos(tls, wire, UInt32(wire.count)) == 0 else {
            throw CryptoError(takingQueueAfter: "ALPN")
        }
    }

    /// Makes the handshake fail unless an alternative name of the certificate is this name or IP literal. The context
    /// must have been made for requests.
    ///
    /// - Returns: false if OpenSSL does not accept the name.
    func requirePeer(_ name: String) -> Bool { unsafe copenssl_require_peer(tls, name) == 1 }

    /// The reason why the handshake refused the certificate; nil if it did not.
    var certificateProblem: String? {
        let code = unsafe SSL_get_verify_result(tls)
        guard code != Int(X509_V_OK) else { return nil }
        return unsafe String(cString: X509_verify_cert_error_string(code))
    }

    /// True if the server has agreed to resume the session.
    var isResumed: Bool { unsafe SSL_session_reused(tls) == 1 }

    /// Offers to resume a session of the same server; call before the handshake.
    func resume(_ session: TLSSession) { _ = unsafe SSL_set_session(tls, session.pointer) }

    /// Returns the session for a later connection; nil if the server has not offered one.
    func resumableSession() -> TLSSession? {
        guard let session = unsafe SSL_get1_session(tls) else { return nil }
        guard unsafe SSL_SESSION_is_resumable(session) == 1 else {
            unsafe SSL_SESSION_free(session)
            return nil
        }
        return unsafe TLSSession(owning: session)
    }

    /// Keeps OpenSSL from spoiling the session of a connection that ends without close_notify.
    func keepSessionAtEnd() { unsafe SSL_set_shutdown(tls, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN) }

    /// OpenSSL's name of the group of the key exchange; nil before the handshake, and without a group.
    var keyExchange: String? { unsafe copenssl_group_name(tls).map { unsafe String(cString: $0) } }

    var protocolName: String? {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(tls, &bytes, &count)
        let chosen = unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
        return context.protocols.first { $0 == chosen }
    }

    /// Empties this thread's error queue. It is empty as a rule, and to ask costs less than to clear it.
    private func clearErrors() {
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    private func step(after result: Int32) -> Step {
        guard result != 1 else { return .done }
        switch unsafe SSL_get_error(tls, result) {
        case SSL_ERROR_WANT_READ: return .wantsMore
        case SSL_ERROR_ZERO_RETURN: return .closed
        default: return .failed(takeReason())
        }
    }
}
