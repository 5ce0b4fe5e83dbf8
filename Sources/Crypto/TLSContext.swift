// What handshakes share: authorities, versions, protocols. No session is ever kept here, so that no handshake is a
// resumed one: each must show its certificate.

import COpenSSL

/// TLS 1.2 and up. For one thread; may be let go while handshakes are under way.
@safe package final class TLSContext {
    /// In the order of preference.
    let protocols: [String]
    /// False where there is none to be had (ca-certificates is not installed): nothing could be trusted. A folder of
    /// certificates alone does not count, since nobody knows whether authorities are in it.
    package let hasAuthorities: Bool
    private let owner: Owner

    /// Borrowed.
    var pointer: OpaquePointer { unsafe owner.pointer }

    /// - Parameters:
    ///   - caFile: PEM, with at least one certificate. Nil: OpenSSL's default places, which SSL_CERT_FILE can move.
    ///   - protocols: for ALPN, each of 1 to 255 bytes, in the order of preference: "h2", "http/1.1". May be empty.
    package init(caFile: String?, protocols: [String]) throws(CryptoError) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        let owner = try Owner()
        try owner.setTerms()
        try owner.offer(protocols)
        try owner.loadAuthorities(caFile)
        hasAuthorities = unsafe copenssl_loaded_count(SSL_CTX_get_cert_store(owner.pointer)) > 0
        self.protocols = protocols
        self.owner = owner
    }
}

@safe private struct Owner: ~Copyable {
    let pointer: OpaquePointer

    init() throws(CryptoError) {
        guard let pointer = unsafe SSL_CTX_new(TLS_client_method()) else { throw CryptoError(takingQueueAfter: "TLS") }
        unsafe self.pointer = pointer
    }

    deinit { unsafe SSL_CTX_free(pointer) }

    func setTerms() throws(CryptoError) {
        guard unsafe copenssl_set_lowest_version(pointer, TLS1_2_VERSION) == 1 else {
            throw CryptoError(takingQueueAfter: "TLS 1.2")
        }
        unsafe copenssl_judge_later(pointer)
        unsafe copenssl_keep_no_session(pointer)
        // Most of a probe's life is waiting, which takes 40 KiB so, and 50 with buffers for nothing.
        unsafe copenssl_release_idle_buffers(pointer)
        unsafe copenssl_shake_hands_once(pointer)
    }

    func offer(_ protocols: [String]) throws(CryptoError) {
        var wire: [UInt8] = []
        for name in protocols {
            guard 1...255 ~= name.utf8.count else { throw CryptoError("ALPN: \(name.utf8.count) bytes") }
            wire += [UInt8(name.utf8.count)] + Array(name.utf8)
        }
        // Unlike the rest of OpenSSL, this one says 0 for success.
        guard unsafe wire.isEmpty || SSL_CTX_set_alpn_protos(pointer, wire, UInt32(wire.count)) == 0 else {
            throw CryptoError(takingQueueAfter: "ALPN")
        }
    }

    func loadAuthorities(_ caFile: String?) throws(CryptoError) {
        guard let caFile else {
            // Places that are missing are no error: `hasAuthorities` says what was found.
            _ = unsafe SSL_CTX_set_default_verify_paths(pointer)
            return
        }
        guard unsafe SSL_CTX_load_verify_file(pointer, caFile) == 1 else {
            throw CryptoError(takingQueueAfter: caFile)
        }
    }
}
