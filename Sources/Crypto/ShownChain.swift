// Verifies the certificates that a server presented, independently of the handshake: issuer, name and validity.

import COpenSSL

/// All pointers are borrowed. OpenSSL's handshake reports one error only. Separate results keep an expired certificate
/// from counting as a forged one, and a wrong clock from making every address look forged.
@safe struct ShownChain {
    /// The server's own certificate.
    let leaf: OpaquePointer
    /// The presented certificates, in any order; may include the leaf.
    let shown: OpaquePointer?
    let store: OpaquePointer
    /// OpenSSL's security level, which rejects weak keys and digests.
    let securityLevel: Int32

    /// The chain searches, in order; each may succeed where the previous ones failed.
    private enum Search: CaseIterable {
        case validNow
        /// An expired authority can hide a valid chain through a presented certificate.
        case validNowPreferringShown
        case anyTime
    }

    /// Returns nil if the verification could not run.
    func trust(nowSeconds: Int64) -> (verdict: TLSPeer.Trust, isValidNow: Bool)? {
        var outcome: Int32 = X509_V_ERR_UNSPECIFIED
        for search in Search.allCases {
            outcome = verify(search, nowSeconds)
            if outcome == X509_V_OK { return (.trusted, search != .anyTime) }
        }
        guard outcome != X509_V_ERR_OUT_OF_MEM, outcome != X509_V_ERR_UNSPECIFIED else { return nil }
        let reason = unsafe String(cString: X509_verify_cert_error_string(Int(outcome)))
        let dates = unsafe Validity(leaf)
        return (.untrusted(reason), dates.map { $0.contains(nowSeconds) } ?? false)
    }

    /// - Returns: an X509_V_* code.
    private func verify(_ search: Search, _ nowSeconds: Int64) -> Int32 {
        guard let run = unsafe X509_STORE_CTX_new() else { return X509_V_ERR_OUT_OF_MEM }
        defer { unsafe X509_STORE_CTX_free(run) }
        guard unsafe X509_STORE_CTX_init(run, store, leaf, shown) == 1,
            unsafe X509_STORE_CTX_set_default(run, "ssl_server") == 1,
            let terms = unsafe X509_STORE_CTX_get0_param(run)
        else { return X509_V_ERR_OUT_OF_MEM }
        unsafe X509_VERIFY_PARAM_set_auth_level(terms, securityLevel)
        switch search {
        case .validNow: unsafe X509_VERIFY_PARAM_set_time(terms, Int(nowSeconds))
        case .validNowPreferringShown:
            unsafe X509_VERIFY_PARAM_set_time(terms, Int(nowSeconds))
            _ = unsafe X509_VERIFY_PARAM_clear_flags(terms, UInt(X509_V_FLAG_TRUSTED_FIRST))
        case .anyTime: _ = unsafe X509_VERIFY_PARAM_set_flags(terms, UInt(X509_V_FLAG_NO_CHECK_TIME))
        }
        guard unsafe X509_verify_cert(run) != 1 else { return X509_V_OK }
        let failure = unsafe X509_STORE_CTX_get_error(run)
        return failure == X509_V_OK ? X509_V_ERR_UNSPECIFIED : failure
    }

    /// - Parameter name: a name that `HostName` accepts.
    func matches(_ name: String) -> Bool {
        if matchingPattern(name) != nil { return true }
        // OpenSSL's wildcards match only letters, digits and hyphens; browsers also accept underscores. So another
        // label is tested in place of one with an underscore, and the match must be a wildcard.
        guard let dot = name.firstIndex(of: "."), name[..<dot].contains("_") else { return false }
        return matchingPattern("x" + name[dot...])?.hasPrefix("*") == true
    }

    /// Returns the alternative name that matches `name`; nil if there is none.
    private func matchingPattern(_ name: String) -> String? {
        let flags = UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)
        var pattern: UnsafeMutablePointer<CChar>?
        guard unsafe X509_check_host(leaf, name, name.utf8.count, flags, &pattern) == 1 else { return nil }
        defer { unsafe CRYPTO_free(pattern, #fileID, Int32(#line)) }
        return unsafe pattern.map { unsafe String(cString: $0) }
    }
}
