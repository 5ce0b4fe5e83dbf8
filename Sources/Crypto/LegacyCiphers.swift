// What OpenSSL keeps in its legacy provider: here DES alone. The provider is loaded into a library context of its own,
// so that TLS in this process, which uses the default context, can't come upon a broken cipher.

import COpenSSL

/// Every thread may use it: OpenSSL's counts of references are atomic, and a cipher that was fetched never changes.
@safe struct LegacyCiphers: @unchecked Sendable {
    /// Owned, and never freed: it lives as long as the process.
    private let cipher: OpaquePointer?
    private let failure: CryptoError

    /// Made once, at the first use.
    private static let shared = LegacyCiphers()

    private init() {
        let attempt = "OpenSSL's legacy provider with DES-ECB"
        ERR_clear_error()
        let context = unsafe OSSL_LIB_CTX_new()
        let hasProvider = unsafe context != nil && OSSL_PROVIDER_load(context, "legacy") != nil
        unsafe cipher = hasProvider ? EVP_CIPHER_fetch(context, "DES-ECB", nil) : nil
        failure = CryptoError(takingQueueAfter: attempt)
        // Takes the provider with it.
        if unsafe cipher == nil { unsafe OSSL_LIB_CTX_free(context) }
    }

    static var isAvailable: Bool { unsafe shared.cipher != nil }

    /// Borrowed.
    static func desECB() throws(CryptoError) -> OpaquePointer {
        guard let cipher = unsafe shared.cipher else { throw shared.failure }
        return unsafe cipher
    }
}
