// The secret keys of a fleet, which authenticate what its members share. While the keys are changed, members with the
// old key and with the new one understand each other.

package import Crypto
import DNSWire

package struct FleetKeys: Equatable, Sendable {
    /// One key.
    struct Key: Equatable, Sendable {
        let bytes: [UInt8]
        private let authenticator: MessageAuthenticator
        /// Names the key in shared values, and does not reveal it.
        let id: UInt32
        /// Begins each name in Redis, so that two fleets on one Redis share none.
        let prefix: String

        init(_ bytes: [UInt8]) throws(CryptoError) {
            self.bytes = bytes
            authenticator = try MessageAuthenticator(key: bytes)
            id = UInt32(
                truncatingIfNeeded: try authenticator.code(of: Array("httpdnsd fleet key id".utf8))[..<4]
                    .bigEndianNumber)
            prefix = "h1:\(id.digits(8, radix: 16)):"
        }

        static func == (left: Key, right: Key) -> Bool { left.bytes == right.bytes }

        /// Returns the code for the fields, 32 bytes. A field cannot be moved into its neighbour.
        ///
        /// - Parameter purpose: keeps codes for one purpose from being used for another one.
        func code(_ purpose: String, _ fields: [[UInt8]]) throws(CryptoError) -> [UInt8] {
            var message: [UInt8] = []
            message.reserveCapacity(fields.reduce(32) { $0 + $1.count + 4 })
            message.append(field: purpose.utf8)
            for field in fields { message.append(field: field) }
            return try authenticator.code(of: message)
        }
    }

    /// The first key authenticates what this member shares; what the other keys authenticated is accepted, too.
    let keys: [Key]

    /// HMAC with a shorter key is weaker than its hash (RFC 2104 section 3).
    package static let minBytes = 32
    package static let maxKeys = 2

    /// Returns the names in Redis that end in `end`, one for each key: the first for reading, and all for writing.
    /// Members with one of two keys then find what members with both keys have written, whichever key comes first.
    func names(_ end: String) -> [String] { keys.map { $0.prefix + end } }

    /// Returns the first name of `names`.
    func name(_ end: String) -> String { keys[0].prefix + end }

    /// - Parameter keys: one, or two while they are changed; each of at least `minBytes`.
    /// - Throws: if SHA-256 or AES-128-GCM cannot be used.
    package init(_ keys: [[UInt8]]) throws(CryptoError) {
        precondition(1...FleetKeys.maxKeys ~= keys.count, "one key, or two while they are changed")
        var named: [Key] = []
        for key in keys {
            precondition(key.count >= FleetKeys.minBytes, "a key has enough bytes")
            named.append(try Key(key))
        }
        self.keys = named
        _ = try seal([], .member, place: "", at: RedisTime(0))
    }
}

extension [UInt8] {
    /// Appends the length of the field in 4 bytes, in network byte order, and the field.
    fileprivate mutating func append(field: some Collection<UInt8>) {
        self += UInt32(field.count).bigEndianBytes
        self += field
    }
}

extension FixedWidthInteger {
    var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }
}
