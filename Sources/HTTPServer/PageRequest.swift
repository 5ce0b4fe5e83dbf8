// A request to the HTTP listener, and the check of its method, path, headers and client. Nothing but
// `control.metrics-listen` limits which clients may connect.

import DNSWire

package struct PageRequest: Equatable, Sendable {
    let method: String
    /// The path without the query string.
    let path: String
    /// The Host header; nil for HTTP/1.0 without it.
    let host: String?
    /// The Sec-Fetch-Site header; nil from programs that are no browsers, and from old browsers.
    let fetchSite: String?
    /// The client connects from a loopback address.
    package let isFromThisMachine: Bool
    package let arguments: [Argument: String]

    /// The arguments in the query string that some page takes.
    package enum Argument: String, CaseIterable, Sendable {
        case name, type, span
    }

    package init(
        method: String, path: String, host: String?, fetchSite: String? = nil, isFromThisMachine: Bool = false,
        arguments: [Argument: String] = [:]
    ) {
        self.method = method
        self.path = path
        self.host = host
        self.fetchSite = fetchSite
        self.isFromThisMachine = isFromThisMachine
        self.arguments = arguments
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
        // A browser sends requests of a foreign web site although it does not show that site the reply. They could use
        // up the rate limit of explanations.
        if !page.isForAnySite, let fetchSite, ["cross-site", "same-site"].contains(fetchSite) {
            throw PageReply(403, "requests of other web sites are refused; open the page itself\n")
        }
        if page.showsNames, !isFromThisMachine {
            throw PageReply(
                403,
                "names are shown to clients on this machine only; forward the port with ssh -L, and use localhost\n")
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
    /// The data of the charts on the HTML page.
    case history = "/history.json"
    /// The names that clients ask.
    case names = "/names.json"
    /// The text of `httpdnsctl explain`.
    case explanation = "/explain"

    /// Whether requests of other web sites get the page: a link on a web site may lead to the status page, and a
    /// collector of metrics may be a web site.
    fileprivate var isForAnySite: Bool { [.status, .metrics].contains(self) }

    /// Whether the page shows names. They tell what the users of the machine do, and the listener has no password.
    fileprivate var showsNames: Bool { [.names, .explanation].contains(self) }
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
