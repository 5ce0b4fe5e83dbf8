// Hashes and message authentication codes, implemented by OpenSSL. MD5 is only for the vendors' signatures.

import COpenSSL

package enum Digest {
    /// Returns 16 bytes. Throws if the system's policy (FIPS) disables MD5.
    package static func md5(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
        try digest(bytes, "MD5")
    }

    /// Returns 32 bytes.
    package static func sha256(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
        try digest(bytes, "SHA256")
    }

    /// Returns 32 bytes (RFC 2104).
    ///
    /// - Parameter key: of any length, even empty.
    package static func hmacSHA256(key: [UInt8], _ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
        try MessageAuthenticator(key: key).code(of: bytes)
    }

    private static let maxBytes = Int(EVP_MAX_MD_SIZE)

    private static func digest(_ bytes: [UInt8], _ name: String) throws(CryptoError) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: maxBytes)
        var count = 0
        ERR_clear_error()
        guard unsafe EVP_Q_digest(nil, name, nil, bytes, bytes.count, &hash, &count) == 1 else {
            throw CryptoError(takingQueueAfter: name)
        }
        return Array(hash.prefix(count))
    }
}
