// The header fields of a request in the form that libnghttp2 takes: pointers into one buffer.

import CNghttp2

@safe struct FieldBuffer {
    private struct Field {
        let nameStart, valueStart, end: Int
    }

    private var bytes: [UInt8] = []
    private var fields: [Field] = []
    private var values: [nghttp2_nv]

    init() { unsafe values = [] }

    /// Names that HTTP/2 does not have (RFC 9113 section 8.2.2), and `host`, which `:authority` replaces.
    private static let omitted = [
        "connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
    ]

    /// Replaces the content by the request's header fields (RFC 9113 section 8.3.1).
    mutating func set(_ request: TransferRequest) {
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
        let headers = request.headers
        let host = headers.first { FieldBuffer.isNamed($0.name, "host") }?.value
        add(":method", request.method == .post ? "POST" : "GET")
        add(":scheme", request.endpoint.scheme.rawValue)
        add(":authority", host ?? request.endpoint.authority)
        add(":path", request.target)
        for (name, value) in headers where !FieldBuffer.omitted.contains(where: { FieldBuffer.isNamed(name, $0) }) {
            add(name, value)
        }
        if !headers.contains(where: { FieldBuffer.isNamed($0.name, "accept") }) { add("accept", "*/*") }
        add("accept-encoding", "gzip")
        if request.method == .post { add("content-length", String(request.body.count)) }
    }

    /// - Parameter body: receives pointers that are valid during the call.
    mutating func withValues<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return body(nil, 0) }
            unsafe values.removeAll(keepingCapacity: true)
            for field in fields {
                unsafe values.append(
                    nghttp2_nv(
                        name: start + field.nameStart, value: start + field.valueStart,
                        namelen: field.valueStart - field.nameStart, valuelen: field.end - field.valueStart,
                        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
            }
            return unsafe body(values, values.count)
        }
    }

    /// libnghttp2 converts the name to lower case.
    private mutating func add(_ name: String, _ value: String) {
        let nameStart = bytes.count
        bytes.append(contentsOf: name.utf8)
        let valueStart = bytes.count
        bytes.append(contentsOf: value.utf8)
        fields.append(Field(nameStart: nameStart, valueStart: valueStart, end: bytes.count))
    }

    /// - Parameter wanted: the name in lower case.
    private static func isNamed(_ name: String, _ wanted: String) -> Bool {
        name.utf8.count == wanted.utf8.count
            && zip(name.utf8, wanted.utf8).allSatisfy { byte, wanted in
                byte == wanted || byte | 0x20 == wanted && 0x41...0x5A ~= byte
            }
    }
}
