// An address as nf_tables orders the elements of a set: a number of 4 or 16 bytes, most significant byte first.

import DNSWire

struct SetKey: Hashable, Comparable {
    let value: UInt128
    private let isIPv6: Bool

    init(_ address: Address) {
        value = address.bytes.reduce(0) { $0 << 8 | UInt128($1) }
        isIPv6 = address.isIPv6
    }

    private init(value: UInt128, isIPv6: Bool) { (self.value, self.isIPv6) = (value, isIPv6) }

    /// Returns nil for another length than 4 or 16.
    init?(bytes: [UInt8]) {
        guard let address = Address(bytes: bytes) else { return nil }
        self.init(address)
    }

    var bytes: [UInt8] {
        let width = isIPv6 ? 128 : 32
        return stride(from: width - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt128($0)) }
    }

    /// Whether the key is the largest of its family.
    private var isLast: Bool { value == (isIPv6 ? .max : UInt128(UInt32.max)) }
    var next: SetKey? { isLast ? nil : SetKey(value: value + 1, isIPv6: isIPv6) }
    var previous: SetKey? { value == 0 ? nil : SetKey(value: value - 1, isIPv6: isIPv6) }
    /// The largest key of its family.
    var last: SetKey { SetKey(value: isIPv6 ? .max : UInt128(UInt32.max), isIPv6: isIPv6) }

    static func < (one: SetKey, other: SetKey) -> Bool { one.value < other.value }
}
