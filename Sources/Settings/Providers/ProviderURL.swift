// The parsed URL of a provider. It gives the host for TLS and HTTP; the addresses to dial are separate.

package import DNSWire
import InternationalNames

extension Settings {
    package struct ProviderURL: Hashable, Sendable {
        package enum Host: Hashable, Sendable {
            case name(String)
            case address(Address)
        }

        /// True for https, false for http.
        package let isSecure: Bool
        package let host: Host
        package let port: UInt16
        /// The path, which starts with "/"; no query, because dialects add their own.
        package let path: String

        package init(isSecure: Bool = true, host: Host, port: UInt16? = nil, path: String) {
            self.isSecure = isSecure
            self.host = host
            self.port = port ?? ProviderURL.defaultPort(isSecure: isSecure)
            self.path = path
        }

        /// A URL that no settings file can have, before the key `url` is read.
        static let empty = ProviderURL(host: .name(""), path: "")

        /// Returns the addresses to dial: the given ones, or else that of the URL.
        func dialled(_ addresses: [Address]) -> [Address] {
            if addresses.isEmpty, case .address(let address) = host { [address] } else { addresses }
        }

        /// Maximum size of a URL. RFC 8484 section 6 sets no bound; a longer URL is an error in the file.
        static let maxBytes = 1024

        package init?(_ text: String) {
            guard text.utf8.count <= ProviderURL.maxBytes, let (scheme, authority) = ProviderURL.parts(of: text) else {
                return nil
            }
            let path = text[authority.endIndex...]
            guard scheme == "https" || scheme == "http", path.utf8.allSatisfy(ProviderURL.isPlain) else { return nil }
            let (hostText, portStart) = ProviderURL.hostText(in: authority)
            guard let host = Host(String(hostText)) else { return nil }
            var port: UInt16?
            if let portStart {
                let digits = authority[portStart...].dropFirst()
                guard digits.utf8.allSatisfy(\.isDigit), let number = UInt16(digits), number > 0 else { return nil }
                port = number
            }
            self.init(isSecure: scheme == "https", host: host, port: port, path: path.isEmpty ? "/" : String(path))
        }

        /// Removes the end of a URL template (RFC 8484 section 4.1); the dialect adds the query.
        package static func withoutTemplate(_ text: String) -> String {
            let template = "{?dns}"
            return text.hasSuffix(template) ? String(text.dropLast(template.count)) : text
        }

        /// Returns the remedy for an invalid host name; nil if the name is valid.
        static func remedy(_ text: String) -> String? {
            parts(of: text).flatMap { InternationalName.remedy(String(hostText(in: $0.authority).text)) }
        }

        /// Converts "HOST[:PORT]" to ASCII.
        static func ascii(authority text: String) -> String? {
            let (host, portStart) = hostText(in: text[...])
            guard let name = try? InternationalName.ascii(String(host)) else { return nil }
            return name + (portStart.map { text[$0...] } ?? "")
        }

        private static func parts(of text: String) -> (scheme: String, authority: Substring)? {
            guard let colon = text.firstRange(of: "://") else { return nil }
            return (text[..<colon.lowerBound].lowercased(), text[colon.upperBound...].prefix { $0 != "/" })
        }

        /// Splits an authority. The port part starts at its colon.
        private static func hostText(in authority: Substring) -> (text: Substring, portStart: Substring.Index?) {
            let portStart = authority.lastIndex { $0 == ":" || $0 == "]" }.flatMap { authority[$0] == ":" ? $0 : nil }
            return (authority[..<(portStart ?? authority.endIndex)], portStart)
        }

        /// Whether the byte is printable ASCII without the delimiters of user names, queries, fragments and templates.
        private static func isPlain(_ byte: UInt8) -> Bool {
            (0x21...0x7E).contains(byte) && !"@?#{}\\\"<>^`|".utf8.contains(byte)
        }

        fileprivate static func defaultPort(isSecure: Bool) -> UInt16 { isSecure ? 443 : 80 }
    }

    /// Returns a name of letters, digits, "-" and "_", valid in a URL, a certificate and SNI. Lower case; other
    /// letters are converted to ASCII.
    static func hostName(_ text: String) -> String? {
        guard let text = try? InternationalName.ascii(text) else { return nil }
        let isHostByte = { (byte: UInt8) in
            byte.isDigit || (0x61...0x7A).contains(byte.lowercased) || "-_.".utf8.contains(byte)
        }
        guard text.utf8.allSatisfy(isHostByte), let name = Name(text), !name.isRoot else { return nil }
        // HTTP libraries parse a name with a numeric last label as an IPv4 address.
        guard let last = name.labels.last, !last.allSatisfy(\.isDigit) else { return nil }
        return name.description.lowercased()
    }
}

extension Settings.ProviderURL.Host {
    /// Parses a name, an IPv4 address, or an IPv6 address in brackets.
    package init?(_ text: String) {
        if text.hasPrefix("["), text.hasSuffix("]") {
            guard let address = Address(String(text.dropFirst().dropLast())), address.isIPv6 else {
                return nil
            }
            self = .address(address)
        } else if let address = Address(text), !address.isIPv6 {
            self = .address(address)
        } else if let name = Settings.hostName(text) {
            self = .name(name)
        } else {
            return nil
        }
    }
}

extension Settings.ProviderURL: CustomStringConvertible {
    package var description: String {
        let scheme = isSecure ? "https" : "http"
        let portText = port == Settings.ProviderURL.defaultPort(isSecure: isSecure) ? "" : ":\(port)"
        return "\(scheme)://\(host)\(portText)\(path)"
    }
}

extension Settings.ProviderURL.Host: CustomStringConvertible {
    /// The host in URL syntax.
    package var description: String {
        switch self {
        case .name(let name): name
        case .address(let address): address.isIPv6 ? "[\(address)]" : "\(address)"
        }
    }
}
