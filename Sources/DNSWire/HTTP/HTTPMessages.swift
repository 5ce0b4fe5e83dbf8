// HTTP requests and replies as plain values, without sockets: what the dialects write and the client transports.

package struct HTTPRequest: Equatable, Sendable {
    package enum Method: Equatable, Sendable {
        case get
        case post
    }

    package let method: Method
    /// Path and query as in the request line, beginning with "/"; already percent-encoded.
    package let target: [UInt8]
    package let headers: HTTPHeaders
    /// The body, sent with POST only.
    package let body: [UInt8]

    package init(
        method: Method = .get, target: [UInt8], headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    package init(method: Method = .get, url: String, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.init(method: method, target: Array(url.utf8), headers: headers, body: body)
    }

    /// The target as text.
    package var url: String { String(decoding: target, as: UTF8.self) }
}

package struct HTTPReply: Equatable, Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    package let body: [UInt8]

    package init(status: Int = 200, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
