// The host to which an HTTP reply redirects: a provider's reply, or the reply to the check for a captive portal.

package import DNSWire

extension HTTPReply {
    /// Target host of a redirect; nil if the reply is no redirect, stays on its host, or names an address.
    package var redirectHost: Name? {
        guard 300..<400 ~= status, let location = headers["Location"] else { return nil }
        guard let start = location.firstRange(of: "//"),
            ["", "http:", "https:"].contains(
                location[..<start.lowerBound].lowercased())
        else { return nil }
        let authority = location[start.upperBound...].prefix { !"/?#\\".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
        let text = String(host.prefix { $0 != ":" })
        guard Address(text) == nil, text.utf8.allSatisfy(\.isOfHostName) else { return nil }
        return Name(text)
    }
}

extension UInt8 {
    fileprivate var isOfHostName: Bool {
        isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_") || self == UInt8(ascii: ".")
            || UInt8(ascii: "a")...UInt8(ascii: "z") ~= lowercased
    }
}
