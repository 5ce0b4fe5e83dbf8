// Where a provider is dialled and as whom. Every part that decides which server may answer is in the value, so two
// endpoints that differ in any of them never share a connection. Never holds a name that would have to be looked up.

import CCurl

package struct HTTPEndpoint: Hashable, Sendable {
    package enum Scheme: String, Sendable {
        case http, https
    }

    package let scheme: Scheme
    /// The URL's host: a name or an IP literal, IPv6 without brackets.
    package let host: String
    package let port: UInt16
    /// The IP literal that is dialled, IPv6 without brackets or zone.
    package let address: String
    /// Sent in the TLS handshake instead of `host`. An IP literal is never sent (RFC 6066 section 3).
    package let sni: String?
    /// What the certificate must be valid for, instead of `host`: a name or an IP literal.
    package let verifyName: String?
    /// Sent as `Host` (HTTP/1.1) or `:authority` (HTTP/2) instead of `host`.
    package let hostHeader: String?
    /// Certificates to trust instead of the system's, as a PEM file.
    package let caFile: String?
    /// What `address` is reached through.
    package let proxy: HTTPProxy?
    /// How long a connection may be idle and still be used, in seconds: 1 to `maxIdleSeconds`, and less than after
    /// what time the provider hangs up.
    package let idleSeconds: Int
    /// How many requests a connection carries at most, 1 or more; nil for as many as come. For providers that let a
    /// connection hang when it has carried too many.
    package let maxRequestsPerConnection: Int?

    /// An idle connection may be dead behind a NAT or after a sleep, and finding out costs a time-out; after so long a
    /// new handshake is cheaper than the risk, and the memory is given back.
    package static let defaultIdleSeconds = 10
    /// NATs and load balancers forget a silent connection after minutes.
    package static let maxIdleSeconds = 600

    /// Nil if `address` is no IP literal, or if another part is empty, out of range, or holds characters that have no
    /// place in it.
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
    }

    /// The IP literal that a socket is opened to.
    package var dialledAddress: String { proxy?.address ?? address }

    /// The same endpoint, to which another address leads: another way of the network's, and nobody else who may answer.
    ///
    /// - Parameter way: instead of `dialledAddress`; nil comes back if it is no IP literal.
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

    /// What libcurl takes for the host: it sends this name in the handshake and nothing else of it is used.
    var handshakeHost: String { sni ?? host }

    /// What the certificate is checked for.
    var checkedName: String { verifyName ?? host }

    /// The `Host` header where libcurl's own, made from `handshakeHost`, would be wrong.
    var ownHostHeader: String? {
        if let hostHeader { return hostHeader }
        guard handshakeHost != host else { return nil }
        let isDefaultPort = port == (scheme == .https ? 443 : 80)
        return HTTPEndpoint.bracketed(host) + (isDefaultPort ? "" : ":\(port)")
    }

    /// - Parameter target: path and query as they stand in a request line, beginning with "/".
    func url(target: String) -> String {
        "\(scheme.rawValue)://\(HTTPEndpoint.bracketed(handshakeHost)):\(port)\(target)"
    }

    /// For CURLOPT_CONNECT_TO: every host and port leads here, so libcurl has nothing to look up.
    var dialRule: String { "::\(HTTPEndpoint.bracketed(address)):\(port)" }

    static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    }

    static func isAddress(_ text: String) -> Bool {
        guard !text.utf8.contains(0) else { return false }
        var storage = in6_addr()
        let family = text.utf8.contains(UInt8(ascii: ":")) ? AF_INET6 : AF_INET
        return unsafe inet_pton(family, text, &storage) == 1
    }

    /// Letters, digits, "-", "_" and "." for names; IPv6 literals whole.
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
