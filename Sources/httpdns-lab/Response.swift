// Owns libmicrohttpd's response object, and optionally a streamed body.

import CMicrohttpd

@safe struct Response: ~Copyable {
    private let pointer: OpaquePointer?

    init(body: [UInt8]) {
        var body = body
        unsafe pointer = unsafe MHD_create_response_from_buffer(body.count, &body, .RESPMEM_MUST_COPY)
    }

    /// - Parameter announcedBytes: the Content-Length, which may differ from the stream; nil omits it.
    init(stream: BodyStream, announcedBytes: Int?) {
        unsafe pointer = unsafe MHD_create_response_from_callback(
            announcedBytes.map(UInt64.init) ?? UInt64.max, BodyStream.blockBytes, streamCallback,
            Unmanaged.passRetained(stream).toOpaque(),
            { context in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<BodyStream>.fromOpaque(context).release()
            })
    }

    deinit {
        if let pointer = unsafe pointer { unsafe MHD_destroy_response(pointer) }
    }

    func add(_ name: String, _ value: String) {
        unsafe MHD_add_response_header(pointer, name, value)
    }

    /// Sets a Content-Length that may be wrong, and closes the connection after the reply.
    func announce(_ byteCount: Int) {
        unsafe lab_allow_wrong_length(pointer)
        add("Content-Length", String(byteCount))
        add("Connection", "close")
    }

    func queue(status: UInt32, on connection: OpaquePointer) -> MHD_Result {
        unsafe MHD_queue_response(connection, status, pointer)
    }
}

/// A response body that decides for each block how many bytes to send.
final class BodyStream {
    static let blockBytes = 4096

    private let body: [UInt8]
    private let isEndless: Bool
    /// Maps an offset to the number of bytes that may be sent now; 0 ends the connection.
    private let allowance: (Int) -> Int

    init(_ body: [UInt8], allowance: @escaping (Int) -> Int) {
        self.body = body
        self.allowance = allowance
        isEndless = false
    }

    /// Repeats the body without end.
    init(repeating body: [UInt8], allowance: @escaping () -> Int) {
        self.body = body
        self.allowance = { _ in allowance() }
        isEndless = true
    }

    fileprivate func piece(at position: Int, limit: Int) -> ArraySlice<UInt8> {
        let offset = isEndless ? position % body.count : position
        guard offset < body.count else { return [] }
        return body[offset...].prefix(max(0, min(limit, allowance(offset))))
    }
}

/// MHD_CONTENT_READER_END_WITH_ERROR, a macro with a cast: libmicrohttpd closes the connection.
private let endWithError = -2

private let streamCallback: MHD_ContentReaderCallback = { context, offset, buffer, limit in
    guard let context = unsafe context, let buffer = unsafe buffer else { return endWithError }
    let stream = unsafe Unmanaged<BodyStream>.fromOpaque(context).takeUnretainedValue()
    let piece = stream.piece(at: Int(offset), limit: limit)
    guard !piece.isEmpty else { return endWithError }
    unsafe UnsafeMutableRawBufferPointer(start: buffer, count: limit).copyBytes(from: piece)
    return piece.count
}
