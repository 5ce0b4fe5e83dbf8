// A DNS stamp, "sdns://..." (draft-denis-dns-stamps-01): protocol, address, host name and path of a resolver in one
// text. Reads stamps of DNS over HTTPS.

package import DNSWire

package struct DNSStamp: Equatable, Sendable {
    /// The URL, with the port of the stamp.
    package let url: Settings.ProviderURL
    /// The address to dial; nil: the stamp has none.
    package let address: Address?

    /// The protocols that have a number.
    package enum StampProtocol: UInt8, CaseIterable, Sendable {
        case plainDNS = 0x00
        case dnscrypt = 0x01
        case doh = 0x02
        case dot = 0x03
        case doq = 0x04
        case obliviousDoH = 0x05
        case dnscryptRelay = 0x81
        case obliviousDoHRelay = 0x85
    }

    package enum Fault: Error, Equatable, Sendable {
        /// Not the form "sdns://BASE64", or longer than `maxBytes`.
        case noStamp
        case notBase64
        /// The text ends too early, has more bytes at the end, or a part of a wrong size.
        case malformed
        /// A protocol other than DNS over HTTPS.
        case otherProtocol(StampProtocol)
        case unknownProtocol(UInt8)
        /// The address is none, or no server can have it.
        case badAddress(String)
        /// The host name has bytes that are not ASCII: letters that only look like others would go unnoticed.
        case hostNotASCII
        /// Host, port and path make no URL.
        case badURL(String)
        /// Address and host have different ports.
        case twoPorts
    }

    package static let scheme = "sdns://"
    /// Bound on the text: all parts of the largest size, with several certificates.
    package static let maxBytes = 2048
    /// Size of a SHA-256 digest of a certificate.
    private static let digestBytes = 32
    private static let httpsPort: UInt16 = 443

    package init(_ text: String) throws(Fault) {
        guard text.utf8.count <= DNSStamp.maxBytes,
            text.prefix(DNSStamp.scheme.count).lowercased() == DNSStamp.scheme
        else { throw .noStamp }
        guard let bytes = Base64.url.decode(String(text.dropFirst(DNSStamp.scheme.count))) else { throw .notBase64 }
        guard let number = bytes.first else { throw .malformed }
        guard let kind = StampProtocol(rawValue: number) else { throw .unknownProtocol(number) }
        guard kind == .doh else { throw .otherProtocol(kind) }
        // The properties tell of DNSSEC, logs and filters, as the maker of the stamp claims.
        var parts = Parts(bytes: bytes.dropFirst(), skipping: 8)
        let place = try parts.text()
        // The digests of certificates; one may be empty. The daemon checks certificates by its authorities.
        guard try parts.list().allSatisfy({ [0, DNSStamp.digestBytes].contains($0.count) }) else { throw .malformed }
        let hostBytes = try parts.bytes()
        guard hostBytes.allSatisfy({ $0 < 0x80 }) else { throw .hostNotASCII }
        let path = try parts.text()
        // Resolvers for the host name, which setup does not ask.
        if !parts.isEmpty { _ = try parts.list() }
        guard parts.isEmpty else { throw .malformed }
        let (address, portOfAddress) = try DNSStamp.place(place)
        self.address = address
        url = try DNSStamp.url(String(decoding: hostBytes, as: UTF8.self), portOfAddress, path)
    }

    /// Reads "", ":PORT", "ADDR", "ADDR:PORT" or "[ADDR]:PORT".
    private static func place(_ text: String) throws(Fault) -> (Address?, port: UInt16?) {
        guard !text.isEmpty else { return (nil, nil) }
        if text.hasPrefix(":") {
            guard let endpoint = SocketAddress("0.0.0.0\(text)"), endpoint.port != 0 else { throw .badAddress(text) }
            return (nil, endpoint.port)
        }
        guard let endpoint = SocketAddress(text, defaultPort: httpsPort), endpoint.port != 0,
            endpoint.address.canBeOfServer
        else { throw .badAddress(text) }
        let hasPort = SocketAddress(text) != nil
        return (endpoint.address, hasPort ? endpoint.port : nil)
    }

    private static func url(
        _ host: String, _ portOfAddress: UInt16?, _ path: String
    ) throws(Fault) -> Settings.ProviderURL {
        let text = "https://\(host)\(Settings.ProviderURL.withoutTemplate(path))"
        guard path.hasPrefix("/"), !host.contains("/"), let url = Settings.ProviderURL(text) else {
            throw .badURL(text)
        }
        if case .address(let address) = url.host, !address.canBeOfServer { throw .badAddress(host) }
        guard let portOfAddress, portOfAddress != url.port else { return url }
        guard url.port == httpsPort else { throw .twoPorts }
        return Settings.ProviderURL(host: url.host, port: portOfAddress, path: url.path)
    }

    /// The parts of a stamp, each with its size in one byte before it.
    private struct Parts {
        private var rest: ArraySlice<UInt8>

        init(bytes: ArraySlice<UInt8>, skipping count: Int) { rest = bytes.dropFirst(count) }

        var isEmpty: Bool { rest.isEmpty }

        /// Set in the size of each element of a list but the last.
        private static let more: UInt8 = 0x80

        mutating func bytes() throws(Fault) -> ArraySlice<UInt8> {
            guard let size = rest.popFirst() else { throw .malformed }
            return try take(Int(size))
        }

        mutating func text() throws(Fault) -> String {
            guard let text = String(validating: try bytes(), as: UTF8.self) else { throw .malformed }
            return text
        }

        mutating func list() throws(Fault) -> [ArraySlice<UInt8>] {
            var elements: [ArraySlice<UInt8>] = []
            while let size = rest.popFirst() {
                elements.append(try take(Int(size & ~Parts.more)))
                if size & Parts.more == 0 { return elements }
            }
            throw .malformed
        }

        private mutating func take(_ count: Int) throws(Fault) -> ArraySlice<UInt8> {
            guard rest.count >= count else { throw .malformed }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
    }
}
