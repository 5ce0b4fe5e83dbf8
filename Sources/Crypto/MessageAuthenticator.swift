// HMAC-SHA256 (RFC 2104) with one key for many messages, implemented by OpenSSL.

import COpenSSL
import Synchronization

/// Prepares the key once, which takes longer than the code of a short message.
package final class MessageAuthenticator: Sendable {
    private let context: Mutex<MACContext>

    private static let codeBytes = 32

    /// - Parameter key: of any length, even empty.
    package init(key: [UInt8]) throws(CryptoError) {
        let context = try MACContext()
        try context.prepare(key)
        self.context = Mutex(context)
    }

    /// Returns 32 bytes.
    package func code(of message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try context.withLock { context throws(CryptoError) in
            var code = [UInt8](repeating: 0, count: MessageAuthenticator.codeBytes)
            var count = 0
            ERR_clear_error()
            // Without a key, the one that was set is used again.
            guard unsafe EVP_MAC_init(context.pointer, nil, 0, nil) == 1,
                unsafe EVP_MAC_update(context.pointer, message, message.count) == 1,
                unsafe EVP_MAC_final(context.pointer, &code, &count, code.count) == 1, count == code.count
            else { throw CryptoError(takingQueueAfter: MACContext.attempt) }
            return code
        }
    }
}

@safe private struct MACContext: ~Copyable {
    let pointer: OpaquePointer

    static let attempt = "HMAC-SHA256"

    init() throws(CryptoError) {
        ERR_clear_error()
        guard let algorithm = unsafe EVP_MAC_fetch(nil, "HMAC", nil) else {
            throw CryptoError(takingQueueAfter: MACContext.attempt)
        }
        // The context has a reference of its own.
        defer { unsafe EVP_MAC_free(algorithm) }
        guard let pointer = unsafe EVP_MAC_CTX_new(algorithm) else {
            throw CryptoError(takingQueueAfter: MACContext.attempt)
        }
        unsafe self.pointer = pointer
    }

    func prepare(_ key: [UInt8]) throws(CryptoError) {
        ERR_clear_error()
        var digest = Array("SHA256".utf8CString)
        let isPrepared = unsafe digest.withUnsafeMutableBufferPointer { name in
            let parameters = unsafe [
                OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.baseAddress, 0),
                OSSL_PARAM_construct_end(),
            ]
            return unsafe EVP_MAC_init(pointer, key, key.count, parameters) == 1
        }
        guard isPrepared else { throw CryptoError(takingQueueAfter: MACContext.attempt) }
    }

    deinit { unsafe EVP_MAC_CTX_free(pointer) }
}
