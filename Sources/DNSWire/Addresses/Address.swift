// IPv4 and IPv6 addresses: parsing, printing, address families. No ports, no sockets.

package enum Address: Hashable, Sendable {
    case v4(UInt32)
    case v6(high: UInt64, low: UInt64)

    /// Takes bytes in network byte order; returns nil unless there are 4 or 16 bytes.
    package init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4: self = .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16:
            self = .v6(
                high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
                low: bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
        default: return nil
        }
    }

    package var bytes: [UInt8] {
        switch self {
        case .v4(let value): stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
        case .v6(let high, let low):
            [high, low].flatMap { half in
                stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: half >> UInt64($0)) }
            }
        }
    }

    package var isIPv6: Bool { recordType == .aaaa }

    package var recordType: RecordType {
        switch self {
        case .v4: .a
        case .v6: .aaaa
        }
    }

    /// 127.0.0.1
    package static let loopback4 = Address.v4(0x7F00_0001)
    /// ::1
    package static let loopback6 = Address.v6(high: 0, low: 1)

    package var isLoopback: Bool {
        switch self {
        case .v4(let value): value >> 24 == 127
        case .v6(let high, let low): (high == 0 && low == 1) || mapped?.isLoopback ?? false
        }
    }

    /// Whether the address is in fe80::/10.
    package var isLinkLocal6: Bool {
        guard case .v6(let high, _) = self else { return false }
        return high >> 54 == 0x3FA
    }

    /// The IPv4 address inside `::ffff:0:0/96` (RFC 4291 section 2.5.5.2).
    package var mapped: Address? {
        guard case .v6(let high, let low) = self, high == 0, low >> 32 == 0xFFFF else { return nil }
        return .v4(UInt32(truncatingIfNeeded: low))
    }
}

extension Address {
    /// The owner name of this address's PTR record (RFC 1035 section 3.5, RFC 3596 section 2.5).
    package var reverseName: Name {
        let labels: [[UInt8]]
        let zone: String
        switch self {
        case .v4:
            labels = bytes.reversed().map { Array(String($0).utf8) }
            zone = "in-addr"
        case .v6:
            let digits = Array("0123456789abcdef".utf8)
            labels = bytes.reversed().flatMap { [[digits[Int($0 & 15)]], [digits[Int($0 >> 4)]]] }
            zone = "ip6"
        }
        let all = labels + [Array(zone.utf8), Array("arpa".utf8)]
        return Name(unchecked: all.flatMap { [UInt8($0.count)] + $0 } + [0])
    }
}
