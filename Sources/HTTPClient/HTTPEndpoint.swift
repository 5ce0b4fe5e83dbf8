// The address of a provider and the identity it is verified by. Endpoints that differ in any part never share a
// connection. Contains no name that needs a lookup.

package import DNSWire

/// An endpoint. A class, so that a request shares it: its copy would retain seven strings.
package final class HTTPEndpoint: Sendable {
    package enum Scheme: String, Sendable {
        case http, https
    }

    package let scheme: Scheme
    /// The URL's host: a name or an IP literal, IPv6 without brackets.
    package let host: String
    package let port: UInt16
    /// The IP literal to connect to, IPv6 without brackets or zone.
    package let address: String
    /// The name sent in the TLS handshake instead of `host`. An IP literal is never sent (RFC 6066 section 3).
    package let sni: String?
    /// The name or IP literal that the certificate must match, instead of `host`.
    package let verifyName: String?
    /// The name sent as `Host` (HTTP/1.1) or `:authority` (HTTP/2) instead of `host`.
    package let hostHeader: String?
    /// A PEM file with certificates to trust instead of the system's.
    package let caFile: String?
    /// The proxy that connects to `address`.
    package let proxy: HTTPProxy?
    /// The longest idle time of a reusable connection, in seconds: 1 to `maxIdleSeconds`. Set it below the provider's
    /// own idle timeout.
    package let idleSeconds: Int
    /// The most requests on one connection, 1 or more; nil: no limit. For providers that let a connection hang after
    /// too many requests.
    package let maxRequestsPerConnection: Int?
    /// The `Host` of HTTP/1.1, and `:authority` of HTTP/2.
    let authority: [UInt8]

    /// An idle connection may be dead behind a NAT or after a suspend, and its detection costs a timeout. After this
    /// time a new handshake is cheaper than that risk, and memory is freed.
    package static let defaultIdleSeconds = 10
    /// Maximum idle time: NATs and load balancers drop idle connections after minutes.
    package static let maxIdleSeconds = 600

    /// Returns nil if `address` is not an IP literal, or if another part is empty, out of range or has invalid
    /// characters.
    package init?(
        scheme: Scheme, host: String, port: UInt16, address: String, sni: String? = nil, verifyName: String? = nil,
        hostHeader: String? = nil, caFile: String? = nil, proxy: HTTPProxy? = nil,
        idleSeconds: Int = defaultIdleSeconds, maxRequestsPerConnection: Int? = nil
    ) {
        guard HTTPEndpoint.isAddress(address), port != 0 else { return nil }
        guard [host, sni, verifyName].allSatisfy({ $0.map(HTTPEndpoint.isHost) ?? true }) else { return nil }
        guard hostHeader.map(HTTPEndpoint.isAuthority) ?? true else { return nil }
        guard caFile.map({ !$0.isEmpty && !$0.utf8.contains(0) }) ?? true else { return nil }
        guard 1...HTTPEndpoint.maxIdleSeconds ~= idleSeconds, maxRequestsPerConnection ?? 1 >= 1 else { return nil }
        self.scheme = scheme
        self.host = host
        self.port = port
        self.address = address
        self.sni = sni
        self.verifyName = verifyName
        self.hostHeader = hostHeader
        self.caFile = caFile
        self.proxy = proxy
        self.idleSeconds = idleSeconds
        self.maxRequestsPerConnection = maxRequestsPerConnection
        let isDefaultPort = port == (scheme == .https ? 443 : 80)
        authority = Array((hostHeader ?? HTTPEndpoint.bracketed(host) + (isDefaultPort ? "" : ":\(port)")).utf8)
    }

    /// How many requests run in parallel at first. Assumes HTTP/2 for TLS.
    package static func expectedParallelRequests(_ scheme: Scheme) -> Int {
        ParallelRequests(isOverTLS: scheme == .https).range.now
    }

    /// The IP literal of the TCP connection: the proxy's, or `address`.
    package var dialledAddress: String { proxy?.address ?? address }

    /// Returns the same endpoint reached through another address, such as a NAT64 address. The verified identity
    /// stays the same.
    ///
    /// - Parameter way: replaces `dialledAddress`; the result is nil if it is not an IP literal.
    package func dialled(at way: String) -> HTTPEndpoint? {
        guard let proxy else { return with(address: way, proxy: nil) }
        let other = HTTPProxy(
            kind: proxy.kind, address: way, port: proxy.port, userName: proxy.userName, password: proxy.password)
        return other.flatMap { with(address: address, proxy: $0) }
    }

    private func with(address: String, proxy: HTTPProxy?) -> HTTPEndpoint? {
        HTTPEndpoint(
            scheme: scheme, host: host, port: port, address: address, sni: sni, verifyName: verifyName,
            hostHeader: hostHeader, caFile: caFile, proxy: proxy, idleSeconds: idleSeconds,
            maxRequestsPerConnection: maxRequestsPerConnection)
    }

    package var idleTimeout: Duration { .seconds(idleSeconds) }

    /// The name that the certificate must match.
    var checkedName: String { verifyName ?? host }

    /// The name to send in the TLS handshake; nil for an IP literal (RFC 6066 section 3).
    var serverName: String? {
        let name = sni ?? host
        return HTTPEndpoint.isAddress(name) ? nil : name
    }

    static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    }

    static func isAddress(_ text: String) -> Bool { Address(text) != nil }

    /// Accepts names of letters, digits, "-", "_" and ".", and complete IPv6 literals.
    private static func isHost(_ text: String) -> Bool {
        if text.utf8.contains(UInt8(ascii: ":")) { return isAddress(text) }
        return !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    private static func isAuthority(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}

extension HTTPEndpoint: Hashable {
    package static func == (left: HTTPEndpoint, right: HTTPEndpoint) -> Bool {
        left === right
            || left.address == right.address && left.port == right.port && left.scheme == right.scheme
                && left.host == right.host && left.sni == right.sni && left.verifyName == right.verifyName
                && left.hostHeader == right.hostHeader && left.caFile == right.caFile && left.proxy == right.proxy
                && left.idleSeconds == right.idleSeconds
                && left.maxRequestsPerConnection == right.maxRequestsPerConnection
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(address)
        hasher.combine(port)
        hasher.combine(host)
    }
}
