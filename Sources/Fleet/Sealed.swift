// Messages that only members of a fleet can read and make. Redis and the way to it need not be trusted.
//
// Fields in network byte order: version (1 byte), ID of the key (4), time by Redis's clock in milliseconds (6), nonce
// (12), ciphertext, tag (16). The cipher is AES-128-GCM with a random nonce. Its key is the HMAC-SHA256 of purpose,
// place and all that precedes the nonce, by the key of the fleet, cut to 128 bits. So a change of content, purpose,
// place or time is found.

import Crypto

enum SealPurpose: String {
    case answer, flush, evidence, member, sum
}

/// Why a message is not used. The raw values appear in statistics.
package enum Refusal: String, Error, CaseIterable, Sendable {
    /// The message is of another version, or is not one of the fleet.
    case malformed
    /// No key has the ID of the message.
    case unknownKey = "unknown-key"
    /// The message is forged, damaged, or of another place.
    case unauthenticated
    /// The time of the message has passed, is before the last flush, or is in the future.
    case outdated
}

extension FleetKeys {
    private static let version: UInt8 = 1
    private static let timeBytes = 6
    private static let headBytes = 1 + 4 + timeBytes
    private static let nonceBytes = 12
    private static let cipherKeyBytes = 16

    /// Seals with the first key.
    ///
    /// - Parameter place: where the message is, such as the name of an entry.
    func seal(
        _ plain: [UInt8], _ purpose: SealPurpose, place: String, at time: RedisTime
    ) throws(CryptoError) -> [UInt8] {
        let key = keys[0]
        let head = [FleetKeys.version] + key.id.bigEndianBytes + time.milliseconds.bigEndianBytes.suffix(6)
        var generator = SystemRandomNumberGenerator()
        let nonce = Array(
            (generator.next().bigEndianBytes + generator.next().bigEndianBytes).prefix(FleetKeys.nonceBytes))
        return try head + nonce
            + Cipher.aesGCM(encrypt: plain, key: FleetKeys.cipherKey(key, purpose, place, head), iv: nonce)
    }

    /// - Returns: the plain text, and when it was sealed.
    func open(
        _ sealed: [UInt8], _ purpose: SealPurpose, place: String
    ) throws(Refusal) -> (plain: [UInt8], time: RedisTime) {
        let begin = FleetKeys.headBytes + FleetKeys.nonceBytes
        guard sealed.count >= begin, sealed[0] == FleetKeys.version else { throw .malformed }
        let id = UInt32(truncatingIfNeeded: sealed[1..<5].bigEndianNumber)
        guard let key = keys.first(where: { $0.id == id }) else { throw .unknownKey }
        let head = Array(sealed[..<FleetKeys.headBytes])
        do throws(CryptoError) {
            let plain = try Cipher.aesGCM(
                decrypt: Array(sealed[begin...]), key: FleetKeys.cipherKey(key, purpose, place, head),
                iv: Array(sealed[FleetKeys.headBytes..<begin]))
            return (plain, RedisTime(head[5...].bigEndianNumber))
        } catch {
            throw .unauthenticated
        }
    }

    private static func cipherKey(
        _ key: Key, _ purpose: SealPurpose, _ place: String, _ head: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        Array(try key.code(purpose.rawValue, [Array(place.utf8), head]).prefix(cipherKeyBytes))
    }
}

extension ArraySlice<UInt8> {
    /// The number in at most 7 bytes.
    var bigEndianNumber: Int64 { reduce(0) { $0 << 8 | Int64($1) } }
}
