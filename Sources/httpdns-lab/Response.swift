// Owner of libmicrohttpd's response object, and of a body that is given piece by piece.

import CMicrohttpd

@safe struct Response: ~Copyable {
    private let pointer: OpaquePointer?

    init(body: [UInt8]) {
        var body = body
        unsafe pointer = unsafe MHD_create_response_from_buffer(body.count, &body, .RESPMEM_MUST_COPY)
    }

    /// - Parameter announcedBytes: what Content-Length says, whatever the stream has; nil to say nothing.
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

    /// A Content-Length that is not the body's, and the end of the connection behind it.
    func announce(_ byteCount: Int) {
        unsafe lab_allow_wrong_length(pointer)
        add("Content-Length", String(byteCount))
        add("Connection", "close")
    }

    func queue(status: UInt32, on connection: OpaquePointer) -> MHD_Result {
        unsafe MHD_queue_response(connection, status, pointer)
    }
}

/// A body that decides before each piece how much of it to give.
final class BodyStream {
    static let blockBytes = 4096

    private let body: [UInt8]
    private let isEndless: Bool
    /// From an offset to the bytes that may go now; 0 ends the connection.
    private let allowance: (Int) -> Int

    init(_ body: [UInt8], allowance: @escaping (Int) -> Int) {
        self.body = body
        self.allowance = allowance
        isEndless = false
    }

    /// Begins again each time that it has ended.
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

/// MHD_CONTENT_READER_END_WITH_ERROR, a macro with a cast: the connection is closed.
private let endWithError = -2

private let streamCallback: MHD_ContentReaderCallback = { context, offset, buffer, limit in
    guard let context = unsafe context, let buffer = unsafe buffer else { return endWithError }
    let stream = unsafe Unmanaged<BodyStream>.fromOpaque(context).takeUnretainedValue()
    let piece = stream.piece(at: Int(offset), limit: limit)
    guard !piece.isEmpty else { return endWithError }
    unsafe UnsafeMutableRawBufferPointer(start: buffer, count: limit).copyBytes(from: piece)
    return piece.count
}
