// A proxy in front of a provider, dialled by address. Its password is not part of the settings.

package import DNSWire

extension Settings.Provider {
    package struct Proxy: Hashable, Sendable {
        package enum Scheme: String, CaseIterable, Sendable {
            /// CONNECT (RFC 9110 section 9.3.6).
            case http
            /// SOCKS5 (RFC 1928) with unresolved names.
            case socks5h
        }

        package let scheme: Scheme
        /// The user name of 1 to 255 bytes (RFC 1929) that need no escapes in a URL; nil: no authentication.
        package let user: String?
        package let endpoint: SocketAddress

        /// Maximum size of a user name (RFC 1929 section 2).
        private static let maxUserBytes = 255

        package init(scheme: Scheme, user: String? = nil, endpoint: SocketAddress) {
            self.scheme = scheme
            self.user = user
            self.endpoint = endpoint
        }

        /// Parses "SCHEME://[USER@]ADDR:PORT", optionally followed by "/".
        package init?(_ text: String) {
            guard let separator = text.firstRange(of: "://") else { return nil }
            guard let scheme = Scheme(rawValue: text[..<separator.lowerBound].lowercased()) else { return nil }
            let rest = text.hasSuffix("/") ? text.dropLast() : text[...]
            guard separator.upperBound <= rest.endIndex else { return nil }
            let authority = rest[separator.upperBound...]
            let at = authority.lastIndex(of: "@")
            let user = at.map { String(authority[..<$0]) }
            let place = at.map { authority[$0...].dropFirst() } ?? authority
            guard let endpoint = SocketAddress(String(place)), endpoint.port != 0 else { return nil }
            if let user {
                guard (1...Proxy.maxUserBytes).contains(user.utf8.count), user.utf8.allSatisfy(Proxy.isPlain) else {
                    return nil
                }
            }
            self.init(scheme: scheme, user: user, endpoint: endpoint)
        }

        /// Whether the byte is printable ASCII without the delimiters of a user name and the URL escape character.
        private static func isPlain(_ byte: UInt8) -> Bool {
            (0x21...0x7E).contains(byte) && !":@/?#[]%\\\"".utf8.contains(byte)
        }
    }
}

extension Settings.Provider.Proxy: CustomStringConvertible {
    package var description: String {
        "\(scheme.rawValue)://\(user.map { "\($0)@" } ?? "")\(endpoint)"
    }
}
