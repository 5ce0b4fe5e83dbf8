// One record of class IN. Names in `data` are uncompressed.

package struct ResourceRecord: Equatable, Sendable {
    package let owner: Name
    package let type: RecordType
    package let ttlSeconds: UInt32
    /// RDATA, at most 65,535 bytes, without compression.
    package let data: [UInt8]

    package init(owner: Name, type: RecordType, ttlSeconds: UInt32, data: [UInt8]) {
        self.owner = owner
        self.type = type
        self.ttlSeconds = ttlSeconds
        self.data = data
    }

    package init(owner: Name, address: Address, ttlSeconds: UInt32) {
        self.init(owner: owner, type: address.recordType, ttlSeconds: ttlSeconds, data: address.bytes)
    }

    package init(owner: Name, alias target: Name, ttlSeconds: UInt32) {
        self.init(owner: owner, type: .cname, ttlSeconds: ttlSeconds, data: target.wire)
    }

    /// The SOA record of a zone that the daemon itself answers for: the server "localhost", the mailbox
    /// "hostmaster.invalid", serial number 1, the times of RFC 6303 section 3, and the TTL as the minimum.
    package static func startOfAuthority(of zone: Name, ttlSeconds: UInt32) -> ResourceRecord {
        var data = ["localhost", "hostmaster.invalid"].compactMap { Name($0) }.flatMap(\.wire)
        for number in [1, 3600, 1200, 604_800, ttlSeconds] { data.appendBigEndian(number) }
        return ResourceRecord(owner: zone, type: .soa, ttlSeconds: ttlSeconds, data: data)
    }

    /// Maximum size of a string in a TXT record (RFC 1035 section 3.3).
    package static let maxStringBytes = 255

    /// Returns the data of a TXT record (RFC 1035 section 3.3.14): one or more strings, each after its length.
    package static func strings(_ text: some Collection<UInt8>) -> [UInt8] {
        stride(from: 0, to: max(1, text.count), by: maxStringBytes).flatMap { start in
            let string = text.dropFirst(start).prefix(maxStringBytes)
            return [UInt8(string.count)] + string
        }
    }

    /// The address of an A or AAAA record; nil for other types and wrong lengths.
    package var address: Address? {
        guard type.isAddress, let address = Address(bytes: data), address.recordType == type else { return nil }
        return address
    }

    /// The MINIMUM field of a SOA record (RFC 1035 section 3.3.13); nil for other types.
    package var startOfAuthorityMinimum: UInt32? {
        guard type == .soa, data.count >= 22 else { return nil }
        return data.suffix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    package func withOwner(_ owner: Name) -> ResourceRecord {
        ResourceRecord(owner: owner, type: type, ttlSeconds: ttlSeconds, data: data)
    }

    package func withTTL(_ seconds: UInt32) -> ResourceRecord {
        ResourceRecord(owner: owner, type: type, ttlSeconds: seconds, data: data)
    }
}
