// The two bits of a query that choose another answer: DNSSEC OK and Checking Disabled. Part of every question and of
// every cache key.

package struct DNSSECBits: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// DO (RFC 3225): the answer has the signatures and proofs of the zone.
    package static let dnssecOK = DNSSECBits(rawValue: 1)
    /// CD (RFC 4035 section 3.2.2): upstreams must not withhold an answer that fails their validation.
    package static let checkingDisabled = DNSSECBits(rawValue: 2)

    /// The operator and property of `OptionSet` are generic, and slower.
    package static func == (left: DNSSECBits, right: DNSSECBits) -> Bool { left.rawValue == right.rawValue }
    package var isEmpty: Bool { rawValue == 0 }

    /// Every combination of the bits.
    package static let all = (0...3).map { DNSSECBits(rawValue: $0) }

    /// The flags field of an OPT record: DO is its highest bit (RFC 3225 section 3).
    @inline(__always)
    var optionFlags: UInt16 { UInt16(rawValue & DNSSECBits.dnssecOK.rawValue) << 15 }

    /// - Parameters:
    ///   - flags: the flags of the header.
    ///   - hasDO: false without an OPT record.
    @inline(__always)
    init(flags: UInt16, hasDO: Bool) {
        let checking = UInt8(truncatingIfNeeded: flags & Header.checkingDisabledFlag) >> 3
        self.init(rawValue: hasDO ? checking | DNSSECBits.dnssecOK.rawValue : checking)
    }
}

extension DNSSECBits: CustomStringConvertible {
    /// "" for neither, else "+DO", "+CD" or "+DO+CD", to follow a record type.
    package var description: String {
        (contains(.dnssecOK) ? "+DO" : "") + (contains(.checkingDisabled) ? "+CD" : "")
    }
}
