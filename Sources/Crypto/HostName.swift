// The names of hosts as certificates and the server name extension write them. Nothing else may reach OpenSSL, to which
// a leading dot, a NUL and an empty name each mean something of their own.

package enum HostName {
    /// RFC 1035, 2.3.4, in text without the final dot.
    private static let maxBytes = 253
    private static let maxLabelBytes = 63

    /// Labels of letters, digits, hyphens, and of underscores, which are no letters for hosts and used all the same.
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
