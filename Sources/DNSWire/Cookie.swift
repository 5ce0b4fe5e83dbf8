// The COOKIE option (RFC 7873) as bytes: where a query has it, and what our reply says in its place. Whether a cookie
// is genuine is decided elsewhere.

/// A client's cookie and a server cookie of the interoperable form (RFC 9018 section 4), three words in network order.
package struct Cookie: Equatable, Sendable {
    /// Chosen by the client, repeated as it is.
    package let client: UInt64
    /// Version, three reserved bytes, timestamp.
    package let stamp: UInt64
    package let hash: UInt64

    package init(client: UInt64, stamp: UInt64, hash: UInt64) {
        self.client = client
        self.stamp = stamp
        self.hash = hash
    }

    static let optionCode: UInt16 = 10
    /// Code, length, the two cookies.
    static let optionBytes = 4 + 24

    /// The option's data within a packet.
    package struct Place: Equatable, Sendable {
        let start: UInt16
        let count: UInt16
    }

    /// What a query brings.
    package enum Received: Equatable, Sendable {
        /// None of the lengths that RFC 7873 section 4 has.
        case malformed
        /// With no server cookie, or with one of a length that ours never has.
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

    /// - Parameter output: has room for `optionBytes`.
    @_lifetime(output: copy output)
    func write(to output: inout OutputSpan<UInt8>) {
        output.appendBigEndian(Cookie.optionCode)
        output.appendBigEndian(UInt16(Cookie.optionBytes - 4))
        output.appendBigEndian(client)
        output.appendBigEndian(stamp)
        output.appendBigEndian(hash)
    }
}

extension OutputSpan<UInt8> {
    @_lifetime(self: copy self)
    fileprivate mutating func appendBigEndian(_ value: UInt64) {
        appendBigEndian(UInt16(truncatingIfNeeded: value >> 48))
        appendBigEndian(UInt16(truncatingIfNeeded: value >> 32))
        appendBigEndian(UInt16(truncatingIfNeeded: value >> 16))
        appendBigEndian(UInt16(truncatingIfNeeded: value))
    }
}

extension Span<UInt8> {
    fileprivate func bigEndian64(at offset: Int) -> UInt64 {
        UInt64(bigEndian32(at: offset)) << 32 | UInt64(bigEndian32(at: offset + 4))
    }
}
