// The ciphers of the vendors' APIs, implemented by OpenSSL: AES-128-CBC, AES-128-GCM and DES-ECB. Not for any other
// use: DES is broken, and unsigned CBC allows padding oracles.

import COpenSSL

package enum Cipher {
    /// AES-128 with PKCS#7 padding: at least one byte is added.
    /// - Parameters:
    ///   - key: 16 bytes.
    ///   - iv: 16 bytes.
    package static func aesCBC(encrypt plain: [UInt8], key: [UInt8], iv: [UInt8]) throws(CryptoError) -> [UInt8] {
        try CipherRun(.aesCBC, .encryption, key: key, iv: iv).output(of: plain)
    }

    /// Throws for wrong padding and partial blocks.
    package static func aesCBC(decrypt cipher: [UInt8], key: [UInt8], iv: [UInt8]) throws(CryptoError) -> [UInt8] {
        try CipherRun(.aesCBC, .decryption, key: key, iv: iv).output(of: cipher)
    }

    /// AES-128 without additional data. Returns the ciphertext, as long as the plaintext, and a 16-byte tag.
    /// - Parameters:
    ///   - key: 16 bytes.
    ///   - iv: 12 bytes, never the same twice with one key.
    package static func aesGCM(encrypt plain: [UInt8], key: [UInt8], iv: [UInt8]) throws(CryptoError) -> [UInt8] {
        let run = try CipherRun(.aesGCM, .encryption, key: key, iv: iv)
        return try run.output(of: plain) + run.tag()
    }

    /// Throws for a wrong tag and returns no plaintext.
    package static func aesGCM(
        decrypt cipherAndTag: [UInt8], key: [UInt8], iv: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        guard cipherAndTag.count >= CipherRun.tagBytes else { throw CryptoError("AES-128-GCM: shorter than its tag") }
        let run = try CipherRun(.aesGCM, .decryption, key: key, iv: iv)
        try run.expect(tag: Array(cipherAndTag.suffix(CipherRun.tagBytes)))
        return try run.output(of: Array(cipherAndTag.dropLast(CipherRun.tagBytes)))
    }

    /// DES with PKCS#7 padding: at least one byte is added.
    /// - Parameter key: 8 bytes; the lowest bit of each is ignored.
    package static func desECB(encrypt plain: [UInt8], key: [UInt8]) throws(CryptoError) -> [UInt8] {
        try CipherRun(.desECB, .encryption, key: key, iv: []).output(of: plain)
    }

    /// Throws for wrong padding and partial blocks.
    package static func desECB(decrypt cipher: [UInt8], key: [UInt8]) throws(CryptoError) -> [UInt8] {
        try CipherRun(.desECB, .decryption, key: key, iv: []).output(of: cipher)
    }

    /// Whether DES is available. False without OpenSSL's legacy provider: `desECB` then always throws.
    package static var desIsAvailable: Bool { LegacyCiphers.isAvailable }
}
