// A request to the HTTP listener, and the check of its method, path and Host header. Access by client address is
// checked elsewhere.

import DNSWire

package struct PageRequest: Equatable, Sendable {
    let method: String
    /// The path without the query string.
    let path: String
    /// The Host header; nil for HTTP/1.0 without it.
    let host: String?

    package init(method: String, path: String, host: String?) {
        self.method = method
        self.path = path
        self.host = host
    }

    /// - Throws: the error reply.
    package func page() throws(PageReply) -> Page {
        guard ["GET", "HEAD"].contains(method) else {
            throw PageReply(405, "only GET and HEAD are served here\n", [("Allow", "GET, HEAD")])
        }
        if let host, !PageRequest.isOurs(host) {
            throw PageReply(421, "use an IP address or localhost as the host, not another name\n")
        }
        guard let page = Page(rawValue: path) else {
            let paths = Page.allCases.map(\.rawValue).joined(separator: ", ")
            throw PageReply(404, "not found; available: \(paths)\n")
        }
        return page
    }

    /// Prevents DNS rebinding: a foreign web page whose name resolves to this address makes the browser send that name.
    private static func isOurs(_ host: String) -> Bool {
        if host.first == "[" {
            guard let end = host.firstIndex(of: "]") else { return false }
            let address = Address(String(host[host.index(after: host.startIndex)..<end]))
            return address?.isIPv6 == true && isPort(host[host.index(after: end)...])
        }
        let name = host.prefix { $0 != ":" }
        guard isPort(host[name.endIndex...]) else { return false }
        return name.lowercased() == "localhost" || Address(String(name))?.recordType == .a
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty || text.first == ":" && text.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}

package enum Page: String, CaseIterable, Sendable {
    /// The HTML page.
    case status = "/"
    /// The counters for Prometheus.
    case metrics = "/metrics"
    /// The data of the HTML page.
    case figures = "/status.json"
}

package struct PageReply: Error, Equatable, Sendable {
    package let status: UInt32
    package let body: [UInt8]
    private let contentType: String
    private let others: [(name: String, value: String)]
    private let policy: String

    package init(
        _ status: UInt32, _ text: String, _ others: [(name: String, value: String)] = [],
        contentType: String = "text/plain; charset=utf-8"
    ) {
        self.init(
            status, Array(text.utf8), contentType: contentType, others, policy: "default-src 'none'")
    }

    /// - Parameter policy: what the body may load (Content Security Policy 3).
    init(
        _ status: UInt32, _ body: [UInt8], contentType: String, _ others: [(name: String, value: String)] = [],
        policy: String
    ) {
        self.status = status
        self.body = body
        self.contentType = contentType
        self.others = others
        self.policy = policy
    }

    /// Replies are not cached, sniffed, framed or read by other sites. Each connection carries one request.
    package var headers: [(name: String, value: String)] {
        [
            ("Content-Type", contentType), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
            ("Content-Security-Policy", policy + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
            ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Connection", "close"),
        ] + others
    }

    package static func == (one: PageReply, other: PageReply) -> Bool {
        one.status == other.status && one.body == other.body && one.headers.elementsEqual(other.headers, by: ==)
    }
}

extension PageReply {
    /// A reply in the Prometheus text format 0.0.4.
    package static func metrics(_ text: String) -> PageReply {
        PageReply(200, text, contentType: "text/plain; version=0.0.4; charset=utf-8")
    }

    package static func json(_ text: String) -> PageReply { PageReply(200, text, contentType: "application/json") }
}
