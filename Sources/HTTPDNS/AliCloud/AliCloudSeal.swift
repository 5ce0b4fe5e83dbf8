// The encryption of version 2 of Alibaba's service: AES-128 for requests and replies, with the initialisation vector
// in front (providers.md 2.3). A wrong key, tag or padding is an error, never an empty text.

import Crypto

/// The encryption of requests and replies. Each key is 32 hexadecimal digits, as shown in the vendor's console.
package enum AliCloudEncryption: Sendable {
    case none
    case cbc(_ key: String)
    case gcm(_ key: String)
}

enum AliCloudSeal: Sendable {
    case none
    case cbc(key: [UInt8])
    case gcm(key: [UInt8])

    private static let keyBytes = 16
    private static let cbcVectorBytes = 16
    private static let gcmVectorBytes = 12

    init(_ encryption: AliCloudEncryption) throws(DialectFault) {
        switch encryption {
        case .none: self = .none
        case .cbc(let text): self = .cbc(key: try AliCloudSeal.key(text))
        case .gcm(let text): self = .gcm(key: try AliCloudSeal.key(text))
        }
    }

    private static func key(_ text: String) throws(DialectFault) -> [UInt8] {
        guard let key = Hex.decode(text.utf8), key.count == keyBytes else {
            throw DialectFault.key("cipher-key-file", allowed: "\(2 * keyBytes) hexadecimal digits")
        }
        return key
    }

    /// The value of the mode parameter in requests and replies.
    var mode: String {
        switch self {
        case .none: "0"
        case .cbc: "1"
        case .gcm: "2"
        }
    }

    var isEncrypting: Bool {
        if case .none = self { false } else { true }
    }

    /// - Parameter nonce: 16 bytes, the first of which become the initialisation vector of the algorithm.
    /// - Throws: `unsupported` if the system has no AES.
    func close(_ plain: [UInt8], nonce: [UInt8]) throws(DialectError) -> [UInt8] {
        do throws(CryptoError) {
            switch self {
            case .none: return plain
            case .cbc(let key):
                let vector = Array(nonce.prefix(AliCloudSeal.cbcVectorBytes))
                return vector + (try Cipher.aesCBC(encrypt: plain, key: key, iv: vector))
            case .gcm(let key):
                let vector = Array(nonce.prefix(AliCloudSeal.gcmVectorBytes))
                return vector + (try Cipher.aesGCM(encrypt: plain, key: key, iv: vector))
            }
        } catch {
            throw .unsupported
        }
    }

    func open(_ sealed: [UInt8]) throws(DialectError) -> [UInt8] {
        do throws(CryptoError) {
            switch self {
            case .none: return sealed
            case .cbc(let key):
                let vector = Array(sealed.prefix(AliCloudSeal.cbcVectorBytes))
                return try Cipher.aesCBC(decrypt: Array(sealed.dropFirst(vector.count)), key: key, iv: vector)
            case .gcm(let key):
                let vector = Array(sealed.prefix(AliCloudSeal.gcmVectorBytes))
                return try Cipher.aesGCM(decrypt: Array(sealed.dropFirst(vector.count)), key: key, iv: vector)
            }
        } catch {
            throw .garbage("can't be decrypted: \(error.text)")
        }
    }
}
