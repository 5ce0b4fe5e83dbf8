// What vendors sign their requests with: a digest over some values and a secret, as hexadecimal digits. Secrets come in
// and never go out.

import Crypto
import DNSWire

enum Signature {
    /// Throws `unsupported` where the system's policy has taken MD5 away: nothing can be asked then.
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
        do throws(CryptoError) {
            return Hex.encode(try Digest.hmacSHA256(key: Array(key.utf8), Array(text.utf8)))
        } catch {
            throw .unsupported
        }
    }

    /// By bytes: the order of ASCII that vendors mean.
    static func sorted(_ values: [String]) -> [String] {
        values.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
