// Validates host names for certificates and SNI. Only valid names may reach OpenSSL, which gives a leading dot, a NUL
// and an empty name special meanings.

package enum HostName {
    /// Maximum length of a name as text without the final dot (RFC 1035 section 2.3.4).
    private static let maxBytes = 253
    private static let maxLabelBytes = 63

    /// Accepts labels of letters, digits, hyphens and underscores. Underscores are not valid in host names, but are
    /// in use.
    package static func isValid(_ name: String) -> Bool {
        guard name.utf8.count <= maxBytes else { return false }
        return name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            1...maxLabelBytes ~= label.count && label.allSatisfy(isValid)
        }
    }

    private static func isValid(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
