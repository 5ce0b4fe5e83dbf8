// The URL of a provider, taken apart once. It names the host to TLS and HTTP; what is dialled is told apart.

package import DNSWire

extension Settings {
    package struct ProviderURL: Hashable, Sendable {
        package enum Host: Hashable, Sendable {
            case name(String)
            case address(Address)
        }

        /// https, not http.
        package let isSecure: Bool
        package let host: Host
        package let port: UInt16
        /// Starts with "/"; no query, because dialects add their own.
        package let path: String

        package init(isSecure: Bool = true, host: Host, port: UInt16? = nil, path: String) {
            self.isSecure = isSecure
            self.host = host
            self.port = port ?? ProviderURL.defaultPort(isSecure: isSecure)
            self.path = path
        }

        /// RFC 8484 section 6 sets no bound; longer ones are a mistake in the file.
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

        /// What is wrong with the letters of the host; nil if that is in order.
        static func remedy(_ text: String) -> String? {
            parts(of: text).flatMap { InternationalName.remedy(String(hostText(in: $0.authority).text)) }
        }

        /// "HOST[:PORT]" with the host as it is sent.
        static func ascii(authority text: String) -> String? {
            let (host, portStart) = hostText(in: text[...])
            guard let name = try? InternationalName.ascii(String(host)) else { return nil }
            return name + (portStart.map { text[$0...] } ?? "")
        }

        private static func parts(of text: String) -> (scheme: String, authority: Substring)? {
            guard let colon = text.firstRange(of: "://") else { return nil }
            return (text[..<colon.lowerBound].lowercased(), text[colon.upperBound...].prefix { $0 != "/" })
        }

        /// The port starts with its colon.
        private static func hostText(in authority: Substring) -> (text: Substring, portStart: Substring.Index?) {
            let portStart = authority.lastIndex { $0 == ":" || $0 == "]" }.flatMap { authority[$0] == ":" ? $0 : nil }
            return (authority[..<(portStart ?? authority.endIndex)], portStart)
        }

        /// Graphic ASCII without what would start user names, queries, fragments or templates.
        private static func isPlain(_ byte: UInt8) -> Bool {
            (0x21...0x7E).contains(byte) && !"@?#{}\\\"<>^`|".utf8.contains(byte)
        }

        fileprivate static func defaultPort(isSecure: Bool) -> UInt16 { isSecure ? 443 : 80 }
    }

    /// Letters, digits, "-" and "_" in labels: what may stand in a URL, a certificate or SNI. Kept in lower case;
    /// other letters than ASCII are converted.
    static func hostName(_ text: String) -> String? {
        guard let text = try? InternationalName.ascii(text) else { return nil }
        let isHostByte = { (byte: UInt8) in
            byte.isDigit || (0x61...0x7A).contains(byte.lowercased) || "-_.".utf8.contains(byte)
        }
        guard text.utf8.allSatisfy(isHostByte), let name = Name(text), !name.isRoot else { return nil }
        // A name whose last label is a number would be read as an IPv4 address by HTTP libraries.
        guard let last = name.labels.last, !last.allSatisfy(\.isDigit) else { return nil }
        return name.description.lowercased()
    }
}

extension Settings.ProviderURL.Host {
    /// A name, an IPv4 address, or an IPv6 address in brackets.
    init?(_ text: String) {
        if text.hasPrefix("["), text.hasSuffix("]") {
            guard let address = Address(String(text.dropFirst().dropLast())), address.recordType == .aaaa else {
                return nil
            }
            self = .address(address)
        } else if let address = Address(text), address.recordType == .a {
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
    /// As it stands in a URL.
    package var description: String {
        switch self {
        case .name(let name): name
        case .address(let address): address.recordType == .aaaa ? "[\(address)]" : "\(address)"
        }
    }
}
