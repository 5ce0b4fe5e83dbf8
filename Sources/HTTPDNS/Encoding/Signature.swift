// Vendors' request signatures: a digest over values and a secret, in hexadecimal. Secrets never appear in results or
// errors.

import Crypto
import DNSWire

enum Signature {
    /// Returns the MD5 digest. Throws `unsupported` if the system's policy disables MD5; the provider cannot be asked
    /// then.
    static func md5(_ text: String) throws(DialectError) -> String {
        do throws(CryptoError) {
            return Hex.encode(try Digest.md5(Array(text.utf8)))
        } catch {
            throw .unsupported
        }
    }

    static func sha256(_ text: String) throws(DialectError) -> String {
        do throws(CryptoError) {
            return Hex.encode(try Digest.sha256(Array(text.utf8)))
        } catch {
            throw .unsupported
        }
    }

    static func hmacSHA256(_ text: String, key: String) throws(DialectError) -> String {
        try hmacSHA256(text, key: Array(key.utf8))
    }

    static func hmacSHA256(_ text: String, key: [UInt8]) throws(DialectError) -> String {
        do throws(CryptoError) {
            return Hex.encode(try Digest.hmacSHA256(key: key, Array(text.utf8)))
        } catch {
            throw .unsupported
        }
    }

    /// Sorts the values by bytes, the ASCII order that the vendors use.
    static func sorted(_ values: [String]) -> [String] {
        values.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
