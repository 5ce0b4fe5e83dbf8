// The header fields of a request in the form that libnghttp2 takes: pointers to constants and into one buffer.

import CNghttp2
import DNSWire

struct FieldBuffer {
    /// The headers of the last request, since most requests over a connection have the same; nil: none.
    private var headers: HTTPHeaders?
    /// The positions of those headers that HTTP/2 has, in `bytes`.
    private var places: [HTTPHeaders.Place] = []
    private var hasAccept = false
    /// The position of the authority.
    private var authority = 0..<0
    /// The bytes of the headers, of the authority, and of the fields that differ from request to request.
    private var bytes: [UInt8] = []

    /// Names that HTTP/2 does not have (RFC 9113 section 8.2.2), and `host`, which `:authority` replaces.
    private static let omitted: [StaticString] = [
        "connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
    ]
    /// Maximum number of fields that are not headers of the request.
    private static let maxOwnFields = 7

    /// Passes the request's header fields (RFC 9113 section 8.3.1).
    ///
    /// - Parameter body: receives pointers that are valid during the call.
    mutating func withFields<Result>(
        of request: TransferRequest, _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result
    ) -> Result {
        let message = request.message
        if headers != message.headers { prepare(message.headers, request.endpoint) }
        bytes.removeLast(bytes.count - authority.upperBound)
        let path = append(message.target.span)
        let isPost = message.method == .post
        let length = isPost ? append(Array(String(message.body.count).utf8).span) : 0..<0
        return unsafe withUnsafeTemporaryAllocation(
            of: nghttp2_nv.self, capacity: FieldBuffer.maxOwnFields + places.count
        ) { room in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                var list = unsafe FieldList(bytes, room)
                list.add(":method", isPost ? "POST" : "GET")
                list.add(":scheme", request.endpoint.scheme == .https ? "https" : "http")
                list.add(":authority", authority)
                list.add(":path", path)
                for index in places.indices { list.add(places[index]) }
                if !hasAccept { list.add("accept", "*/*") }
                list.add("accept-encoding", "gzip")
                if isPost { list.add("content-length", length) }
                return unsafe body(room.baseAddress, list.count)
            }
        }
    }

    private mutating func prepare(_ headers: HTTPHeaders, _ endpoint: HTTPEndpoint) {
        self.headers = headers
        bytes = headers.bytes
        places = headers.places.filter { place in
            !FieldBuffer.omitted.contains { unsafe bytes.span.extracting(place.name).matches($0.buffer.span) }
        }
        hasAccept = headers.value(of: "accept") != nil
        if let host = headers.value(of: "host") {
            authority = append(host)
        } else {
            let name = endpoint.authority
            authority = append(name.span)
        }
    }

    private mutating func append(_ part: Span<UInt8>) -> Range<Int> {
        let start = bytes.count
        bytes.append(addingCapacity: part.count) { $0.append(part) }
        return start..<bytes.count
    }
}

/// Writes fields to memory of the caller.
@safe private struct FieldList {
    private(set) var count = 0
    private let bytes: UnsafeBufferPointer<UInt8>
    private let room: UnsafeMutableBufferPointer<nghttp2_nv>

    init(_ bytes: UnsafeBufferPointer<UInt8>, _ room: UnsafeMutableBufferPointer<nghttp2_nv>) {
        unsafe (self.bytes, self.room) = (bytes, room)
    }

    mutating func add(_ name: StaticString, _ value: StaticString) {
        let flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        unsafe add(name.buffer, value.buffer, flags)
    }

    mutating func add(_ name: StaticString, _ value: Range<Int>) {
        unsafe add(name.buffer, .init(rebasing: bytes[value]), NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
    }

    /// libnghttp2 converts the name to lower case.
    mutating func add(_ field: HTTPHeaders.Place) {
        unsafe add(
            .init(rebasing: bytes[field.name]), .init(rebasing: bytes[field.value]), NGHTTP2_NV_FLAG_NONE.rawValue)
    }

    private mutating func add(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, _ flags: UInt32
    ) {
        unsafe room.initializeElement(
            at: count,
            to: nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.baseAddress),
                value: UnsafeMutablePointer(mutating: value.baseAddress), namelen: name.count, valuelen: value.count,
                flags: UInt8(flags)))
        count += 1
    }
}
