// DES from OpenSSL's legacy provider. The provider is loaded into a separate library context, so TLS, which uses the
// default context, cannot use a broken cipher.

import COpenSSL

/// Thread-safe: OpenSSL's reference counts are atomic, and a fetched cipher is immutable.
@safe struct LegacyCiphers: @unchecked Sendable {
    /// The cipher, owned and never freed; lives as long as the process.
    private let cipher: OpaquePointer?
    private let failure: CryptoError

    /// Created at the first use.
    private static let shared = LegacyCiphers()

    private init() {
        let attempt = "OpenSSL's legacy provider with DES-ECB"
        ERR_clear_error()
        let context = unsafe OSSL_LIB_CTX_new()
        let hasProvider = unsafe context != nil && OSSL_PROVIDER_load(context, "legacy") != nil
        unsafe cipher = hasProvider ? EVP_CIPHER_fetch(context, "DES-ECB", nil) : nil
        failure = CryptoError(takingQueueAfter: attempt)
        // Freeing the context also frees the provider.
        if unsafe cipher == nil { unsafe OSSL_LIB_CTX_free(context) }
    }

    static var isAvailable: Bool { unsafe shared.cipher != nil }

    /// Returns the cipher, which is borrowed.
    static func desECB() throws(CryptoError) -> OpaquePointer {
        guard let cipher = unsafe shared.cipher else { throw shared.failure }
        return unsafe cipher
    }
}
