// Reads and writes the COOKIE option (RFC 7873). Does not verify cookies.

/// A client cookie and a server cookie of the interoperable form (RFC 9018 section 4), as three words in network byte
/// order.
package struct Cookie: Equatable, Sendable {
    /// The client cookie, chosen by the client and echoed unchanged.
    package let client: UInt64
    /// The server cookie's version, three reserved bytes and the timestamp.
    package let stamp: UInt64
    package let hash: UInt64

    package init(client: UInt64, stamp: UInt64, hash: UInt64) {
        self.client = client
        self.stamp = stamp
        self.hash = hash
    }

    static let optionCode: UInt16 = 10
    /// Size of the option: code, length and both cookies.
    static let optionBytes = 4 + 24

    /// The position of the option's data in a packet.
    package struct Place: Equatable, Sendable {
        let start: UInt16
        let count: UInt16
    }

    /// The COOKIE option of a query.
    package enum Received: Equatable, Sendable {
        /// The length is not one that RFC 7873 section 4 allows.
        case malformed
        /// No server cookie, or one with another length than ours.
        case client(UInt64, hasServerCookie: Bool)
        case full(Cookie)
    }

    package static func read(_ place: Place, in packet: Span<UInt8>) -> Received {
        let (start, count) = (Int(place.start), Int(place.count))
        guard count == 8 || (16...40).contains(count) else { return .malformed }
        let client = packet.bigEndian64(at: start)
        guard count == 24 else { return .client(client, hasServerCookie: count > 8) }
        return .full(
            Cookie(client: client, stamp: packet.bigEndian64(at: start + 8), hash: packet.bigEndian64(at: start + 16)))
    }

    /// - Parameter output: must have room for `optionBytes`.
    @_lifetime(output: copy output)
    func write(to output: inout OutputSpan<UInt8>) {
        output.appendBigEndian(Cookie.optionCode)
        output.appendBigEndian(UInt16(Cookie.optionBytes - 4))
        output.appendBigEndian(client)
        output.appendBigEndian(stamp)
        output.appendBigEndian(hash)
    }
}

extension Span<UInt8> {
    fileprivate func bigEndian64(at offset: Int) -> UInt64 {
        UInt64(bigEndian32(at: offset)) << 32 | UInt64(bigEndian32(at: offset + 4))
    }
}
