// The header fields of a request in the form that libnghttp2 takes: pointers to constants and into one buffer.

import CNghttp2
import DNSWire

struct FieldBuffer {
    /// The bytes of the request's headers, then those of the other fields that differ from request to request.
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
        let headers = message.headers
        bytes.removeAll(keepingCapacity: true)
        bytes += headers.bytes
        let authority = append(headers.value(of: "host") ?? request.endpoint.authority[...])
        let path = append(message.target[...])
        let isPost = message.method == .post
        let length = isPost ? append(Array(String(message.body.count).utf8)[...]) : 0..<0
        return unsafe withUnsafeTemporaryAllocation(
            of: nghttp2_nv.self, capacity: FieldBuffer.maxOwnFields + headers.count
        ) { room in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                var list = unsafe FieldList(bytes, room)
                list.add(":method", isPost ? "POST" : "GET")
                list.add(":scheme", request.endpoint.scheme == .https ? "https" : "http")
                list.add(":authority", authority)
                list.add(":path", path)
                var hasAccept = false
                var places = headers.places
                while let place = places.next() {
                    if FieldBuffer.omitted.contains(where: { list.isNamed(place.name, $0) }) { continue }
                    hasAccept = hasAccept || list.isNamed(place.name, "accept")
                    list.add(place)
                }
                if !hasAccept { list.add("accept", "*/*") }
                list.add("accept-encoding", "gzip")
                if isPost { list.add("content-length", length) }
                return unsafe body(room.baseAddress, list.count)
            }
        }
    }

    private mutating func append(_ part: ArraySlice<UInt8>) -> Range<Int> {
        let start = bytes.count
        bytes += part
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

    /// - Parameter wanted: the name in lower case.
    func isNamed(_ name: Range<Int>, _ wanted: StaticString) -> Bool {
        guard name.count == wanted.utf8CodeUnitCount else { return false }
        for index in 0..<name.count {
            guard unsafe bytes[name.lowerBound + index].lowercased == wanted.utf8Start[index] else { return false }
        }
        return true
    }
}

extension StaticString {
    fileprivate var buffer: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}
