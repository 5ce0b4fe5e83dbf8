// Settings shared by handshakes: authorities, versions, protocols, and when certificates are verified.

import COpenSSL

/// A context for TLS 1.2 and later. For one thread; may be released while handshakes are in progress.
@safe package final class TLSContext {
    package enum Purpose: Sendable {
        /// To examine servers: the caller verifies the certificate afterwards. Keeps no sessions, so every handshake is
        /// a full one and presents a certificate.
        case probes
        /// To exchange data: a handshake fails unless the certificate is valid.
        case requests
    }

    /// The protocols for ALPN, in order of preference.
    let protocols: [String]
    /// False if no authorities were found (ca-certificates is not installed), so nothing can be trusted. A
    /// certificate directory alone does not count, since it may hold no authorities.
    package let hasAuthorities: Bool
    private let owner: Owner

    /// OpenSSL's context, borrowed.
    var pointer: OpaquePointer { unsafe owner.pointer }

    /// - Parameters:
    ///   - caFile: a PEM file with at least one certificate. Nil for probes: OpenSSL's default locations, which
    ///     SSL_CERT_FILE can change. Nil for requests: OpenSSL's default directory, of which it reads roots as needed.
    ///   - protocols: for ALPN, each of 1 to 255 bytes, in order of preference: "h2", "http/1.1". May be empty.
    package init(caFile: String?, protocols: [String], for purpose: Purpose = .probes) throws(CryptoError) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        let owner = try Owner()
        try owner.setTerms(purpose)
        try owner.offer(protocols)
        try owner.loadAuthorities(caFile, purpose)
        hasAuthorities = unsafe copenssl_loaded_count(SSL_CTX_get_cert_store(owner.pointer)) > 0
        self.protocols = protocols
        self.owner = owner
    }

    /// Returns the list of ALPN (RFC 7301 section 3.1).
    static func wire(_ protocols: [String]) throws(CryptoError) -> [UInt8] {
        var wire: [UInt8] = []
        for name in protocols {
            guard 1...255 ~= name.utf8.count else { throw CryptoError("ALPN: \(name.utf8.count) bytes") }
            wire += [UInt8(name.utf8.count)] + Array(name.utf8)
        }
        return wire
    }
}

@safe private struct Owner: ~Copyable {
    let pointer: OpaquePointer

    init() throws(CryptoError) {
        guard let pointer = unsafe SSL_CTX_new(TLS_client_method()) else { throw CryptoError(takingQueueAfter: "TLS") }
        unsafe self.pointer = pointer
    }

    deinit { unsafe SSL_CTX_free(pointer) }

    func setTerms(_ purpose: TLSContext.Purpose) throws(CryptoError) {
        guard unsafe copenssl_set_lowest_version(pointer, TLS1_2_VERSION) == 1 else {
            throw CryptoError(takingQueueAfter: "TLS 1.2")
        }
        switch purpose {
        case .probes:
            unsafe copenssl_judge_later(pointer)
            unsafe copenssl_keep_no_session(pointer)
            // Probes mostly wait. Released buffers reduce a waiting probe from 50 to 40 KiB.
            unsafe copenssl_release_idle_buffers(pointer)
        case .requests: unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        }
        unsafe copenssl_shake_hands_once(pointer)
    }

    func offer(_ protocols: [String]) throws(CryptoError) {
        let wire = try TLSContext.wire(protocols)
        // Unlike most OpenSSL functions, this one returns 0 for success.
        guard unsafe wire.isEmpty || SSL_CTX_set_alpn_protos(pointer, wire, UInt32(wire.count)) == 0 else {
            throw CryptoError(takingQueueAfter: "ALPN")
        }
    }

    func loadAuthorities(_ caFile: String?, _ purpose: TLSContext.Purpose) throws(CryptoError) {
        guard let caFile else {
            // Missing locations are not an error; `hasAuthorities` reports the result.
            switch purpose {
            case .probes: _ = unsafe SSL_CTX_set_default_verify_paths(pointer)
            case .requests: _ = unsafe SSL_CTX_load_verify_dir(pointer, X509_get_default_cert_dir())
            }
            return
        }
        guard unsafe SSL_CTX_load_verify_file(pointer, caFile) == 1 else {
            throw CryptoError(takingQueueAfter: caFile)
        }
    }
}
