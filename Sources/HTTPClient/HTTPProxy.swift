// A proxy in front of a provider, given by IP address. Its description omits the password.

package struct HTTPProxy: Hashable, Sendable {
    package enum Kind: String, Sendable {
        /// HTTP CONNECT (RFC 9110 section 9.3.6), for `http` URLs as well: the proxy sees no request.
        case connect
        /// SOCKS version 5 (RFC 1928); the target is passed to the proxy and never resolved here.
        case socks5h
    }

    package let kind: Kind
    /// The IP literal of the proxy, IPv6 without brackets or zone.
    package let address: String
    package let port: UInt16
    package let userName: String?
    package let password: String?

    /// Maximum size of a credential: RFC 1929 encodes each length in one byte.
    package static let maxCredentialBytes = 255

    /// Returns nil for an `address` that is not an IP literal, and for a password without a user name. Also returns nil
    /// if a credential is too long or has control characters. The user name must not be empty or contain a colon (RFC
    /// 7617 section 2).
    package init?(kind: Kind, address: String, port: UInt16, userName: String? = nil, password: String? = nil) {
        guard HTTPEndpoint.isAddress(address), port != 0 else { return nil }
        guard userName != nil || password == nil else { return nil }
        guard [userName, password].allSatisfy({ $0.map(HTTPProxy.isCredential) ?? true }) else { return nil }
        guard userName.map({ !$0.isEmpty && !$0.utf8.contains(UInt8(ascii: ":")) }) ?? true else { return nil }
        self.kind = kind
        self.address = address
        self.port = port
        self.userName = userName
        self.password = password
    }

    private static func isCredential(_ text: String) -> Bool {
        text.utf8.count <= maxCredentialBytes && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

extension HTTPProxy: CustomStringConvertible {
    package var description: String { "\(kind.rawValue)://\(HTTPEndpoint.bracketed(address)):\(port)" }
}
