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
    /// False if no authorities were found (ca-certificates is not installed), so nothing can be trusted.
    package let hasAuthorities: Bool
    private let owner: Owner

    /// OpenSSL's context, borrowed.
    var pointer: OpaquePointer { unsafe owner.pointer }

    /// - Parameters:
    ///   - caFile: a PEM file with at least one certificate. Nil: OpenSSL's default locations, which SSL_CERT_FILE and
    ///     SSL_CERT_DIR can change.
    ///   - protocols: for ALPN, each of 1 to 255 bytes, in order of preference: "h2", "http/1.1". May be empty.
    package init(caFile: String?, protocols: [String], for purpose: Purpose = .probes) throws(CryptoError) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        let owner = try Owner()
        try owner.setTerms(purpose)
        try owner.offer(protocols)
        hasAuthorities = try owner.findAuthorities(caFile)
        self.protocols = protocols
        self.owner = owner
    }

    /// Whether the directory holds the system's authorities under the names by which OpenSSL finds an issuer. A few
    /// such names do not count: they may be the operator's own authorities, beside a file with the system's.
    static func isHashed(_ directory: String) -> Bool { unsafe copenssl_is_hashed(directory, 16) == 1 }

    /// The key exchange of X25519 and ML-KEM-768 together, which stays secret from quantum computers. OpenSSL offers it
    /// from 3.5 on, unless openssl.cnf says otherwise.
    package static let postQuantumGroup = "X25519MLKEM768"

    /// Whether OpenSSL has a group for key exchanges.
    package static func hasGroup(_ name: String) -> Bool { unsafe copenssl_has_group(name) == 1 }

    /// The version of the OpenSSL that the program runs with, such as "3.0.17".
    package static var libraryVersion: String { unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }

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

    /// Returns whether there are any. Of a hashed directory a certificate is read when a chain needs it: all 140 of
    /// Debian would take 70 ms at the start, and 1 MB.
    func findAuthorities(_ caFile: String?) throws(CryptoError) -> Bool {
        if let caFile {
            guard unsafe SSL_CTX_load_verify_file(pointer, caFile) == 1 else {
                throw CryptoError(takingQueueAfter: caFile)
            }
            return true
        }
        if let directory = unsafe copenssl_default_directory(), unsafe TLSContext.isHashed(String(cString: directory)) {
            return unsafe SSL_CTX_set_default_verify_dir(pointer) == 1
        }
        // Missing locations are not an error.
        _ = unsafe SSL_CTX_set_default_verify_paths(pointer)
        return unsafe copenssl_loaded_count(SSL_CTX_get_cert_store(pointer)) > 0
    }
}
