// The request line and header fields of HTTP/1.1 (RFC 9112 sections 3 and 5).

import DNSWire

struct HTTP1Head {
    /// The headers of the last request, since most requests to an endpoint have the same; nil: none.
    private var headers: HTTPHeaders?
    /// The bytes from the end of the target to the last field that the requests share.
    private var shared: [UInt8] = []

    /// Fields that the client sets itself, whatever the request has.
    private static let omitted: [StaticString] = ["host", "content-length", "transfer-encoding"]

    /// Appends everything of the request before its body.
    mutating func append(_ request: TransferRequest, to bytes: inout [UInt8]) {
        let message = request.message
        if headers != message.headers { prepare(message.headers, request.endpoint) }
        let isPost = message.method == .post
        let fixed = isPost ? 64 : 8
        bytes.append(addingCapacity: fixed + message.target.count + shared.count) { output in
            output.append((isPost ? "POST " : "GET ").utf8.span)
            output.append(message.target.span)
            output.append(shared.span)
            if isPost { output.append("Content-Length: \(message.body.count)\r\n".utf8.span) }
            output.append("\r\n".utf8.span)
        }
    }

    private mutating func prepare(_ headers: HTTPHeaders, _ endpoint: HTTPEndpoint) {
        self.headers = headers
        shared = Array(" HTTP/1.1\r\nHost: ".utf8)
        if let host = headers.value(of: "host") { shared.append(copying: host) } else { shared += endpoint.authority }
        shared += "\r\n".utf8
        let bytes = headers.bytes.span
        for place in headers.places {
            let (name, value) = (bytes.extracting(place.name), bytes.extracting(place.value))
            guard !HTTP1Head.omitted.contains(where: { unsafe name.matches($0.buffer.span) }) else { continue }
            shared.append(copying: name)
            shared += (value.isEmpty ? ":" : ": ").utf8
            shared.append(copying: value)
            shared += "\r\n".utf8
        }
        if headers.value(of: "accept") == nil { shared += "Accept: */*\r\n".utf8 }
        shared += "Accept-Encoding: gzip\r\n".utf8
    }
}

extension [UInt8] {
    fileprivate mutating func append(copying bytes: Span<UInt8>) {
        append(addingCapacity: bytes.count) { $0.append(bytes) }
    }
}
