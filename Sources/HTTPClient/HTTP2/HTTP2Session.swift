// HTTP/2 frames of one connection (RFC 9113) by libnghttp2: requests to bytes, and bytes to replies. No socket and no
// clock.

import CNghttp2
import DNSWire

/// Streams that the caller started end exactly once in `takeEnded`, unless they are cancelled. libnghttp2 answers PING
/// and SETTINGS, keeps the windows open, and waits while the server allows no more streams. Flow control works per
/// stream: a reply beyond its bound ends its stream only.
@safe final class HTTP2Session {
    struct Ended {
        let transfer: Transfer
        let end: TransferEnd
    }

    /// The largest window. The windows and `TransferReply.maxBodyBytes` bound each stream, and all data is read at
    /// once, so a smaller window of the connection would only let one stream hinder the others.
    private static let connectionWindowBytes: Int32 = .max
    /// Bytes that a server which ignores resets may waste before other connections take its place. A reset stream has
    /// at most a window of 64 KiB in flight.
    private static let maxIgnoredBytes = 1 << 20

    private(set) var openStreams = 0
    /// True from a PING until the server sends anything.
    private var awaitsPingAcknowledgement = false
    /// The server has refused a stream, although it allowed the number of streams.
    private var hasRefusedStream = false
    /// Bytes of DATA frames for streams that have ended here.
    private var ignoredBytes = 0
    /// The last processed stream of the last GOAWAY: later streams are not processed.
    private var lastProcessedStream: Int32?
    private var ended: [Ended] = []
    /// Transfers whose request was written, in whole, since the last `takeSent`.
    private var sent: [Transfer] = []
    /// The session, also for tests.
    private(set) var session: OpaquePointer?
    /// The header fields, reused for each request.
    private var fields = FieldBuffer()
    /// The transfer whose header block is being received; nil: none, or that of a cancelled stream.
    private var heading: Transfer?

    /// - Parameter maxStreams: the number of streams that the server allows until its SETTINGS arrive; at least 1.
    init(maxStreams: Int = Dialer.usualStreams) throws(TransferFailure) {
        var made: OpaquePointer?
        let callbacks = try unsafe HTTP2Session.callbacks()
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        var option: OpaquePointer?
        guard unsafe nghttp2_option_new(&option) == 0 else { throw HTTP2Session.noMemory }
        defer { unsafe nghttp2_option_del(option) }
        unsafe nghttp2_option_set_peer_max_concurrent_streams(option, UInt32(maxStreams))
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        guard unsafe nghttp2_session_client_new2(&made, callbacks, context, option) == 0 else {
            throw HTTP2Session.noMemory
        }
        unsafe session = made
        let terms = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(Transfer.maxHeaderBytes)),
        ]
        guard unsafe nghttp2_submit_settings(session, 0, terms, terms.count) == 0,
            unsafe nghttp2_session_set_local_window_size(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, HTTP2Session.connectionWindowBytes) == 0
        else { throw HTTP2Session.noMemory }
    }

    deinit { unsafe nghttp2_session_del(session) }

    private static let noMemory = TransferFailure.local("no memory for an HTTP/2 connection")

    /// The most streams that the server allows.
    var maxStreams: Int {
        Int(unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }

    /// True if the connection takes no new streams: the server has sent GOAWAY, refused a stream or ignored resets, or
    /// no stream numbers are left.
    var isDraining: Bool {
        unsafe hasRefusedStream || ignoredBytes > HTTP2Session.maxIgnoredBytes
            || nghttp2_session_check_request_allowed(session) == 0
    }

    var hasOutput: Bool { unsafe nghttp2_session_want_write(session) != 0 }

    /// True if the connection has no further use.
    var hasEnded: Bool {
        unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    /// Queues the request.
    func start(_ transfer: Transfer) throws(TransferFailure) {
        let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
        let id = unsafe fields.withFields(of: transfer.request) { (values, count) in
            guard transfer.hasBody else {
                return unsafe nghttp2_submit_request(session, nil, values, count, nil, context)
            }
            var body = unsafe cnghttp2_body(context, HTTP2Session.readBody)
            return unsafe nghttp2_submit_request(session, nil, values, count, &body, context)
        }
        guard id > 0 else { throw .local(unsafe String(cString: nghttp2_strerror(id))) }
        transfer.streamID = id
        openStreams += 1
    }

    /// Cancels a stream. Ignores a stream that has ended.
    func cancel(_ transfer: Transfer) {
        ended.removeAll { $0.transfer === transfer }
        sent.removeAll { $0 === transfer }
        if let id = transfer.streamID { reset(transfer, id) }
    }

    /// Ends a stream without a result.
    private func reset(_ transfer: Transfer, _ id: Int32) {
        release(transfer)
        _ = unsafe nghttp2_session_set_stream_user_data(session, id, nil)
        _ = unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, NGHTTP2_CANCEL.rawValue)
    }

    /// Ends the streams that wait for a place and will not get one, because the server has sent GOAWAY.
    func endUnsent(of transfers: [Transfer]) {
        guard lastProcessedStream != nil else { return }
        for transfer in transfers {
            guard let id = transfer.streamID, unsafe nghttp2_session_find_stream(session, id) == nil else { continue }
            let end = refusal(of: id)
            reset(transfer, id)
            ended.append(Ended(transfer: transfer, end: end))
        }
    }

    /// Queues a PING, unless the acknowledgement of an earlier one is awaited.
    func ping() {
        guard !awaitsPingAcknowledgement else { return }
        awaitsPingAcknowledgement = unsafe nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) == 0
    }

    /// - Returns: libnghttp2's text if the server broke the protocol; nil otherwise.
    func receive(_ bytes: ArraySlice<UInt8>) -> String? {
        awaitsPingAcknowledgement = false
        let taken = unsafe bytes.withUnsafeBufferPointer {
            unsafe nghttp2_session_mem_recv(session, $0.baseAddress, $0.count)
        }
        return taken < 0 ? unsafe String(cString: nghttp2_strerror(Int32(taken))) : nil
    }

    /// Appends the next frames to send; more than `Dialer.recordBytes` only by the last frame.
    ///
    /// - Returns: libnghttp2's text of a failure; nil otherwise.
    func appendOutput(to bytes: inout [UInt8]) -> String? {
        while bytes.count < Dialer.recordBytes {
            var frame: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &frame)
            guard count >= 0 else { return unsafe String(cString: nghttp2_strerror(Int32(count))) }
            guard count > 0 else { break }
            unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: frame, count: count))
        }
        return nil
    }

    /// Passes the streams that have ended since the last call. The arrays keep their memory for the next streams.
    func takeEnded(_ take: (consuming Ended) -> Void) {
        ended.drain(take)
    }

    /// True if `takeSent` has transfers to pass.
    var hasSent: Bool { !sent.isEmpty }

    /// Passes the transfers whose whole request is part of the output since the last call.
    func takeSent(_ take: (Transfer) -> Void) {
        while let transfer = sent.popLast() { take(transfer) }
    }

    private func release(_ transfer: Transfer) {
        transfer.streamID = nil
        openStreams -= 1
        if heading === transfer { heading = nil }
    }

    private func end(_ transfer: Transfer, _ end: TransferEnd) {
        release(transfer)
        ended.append(Ended(transfer: transfer, end: end))
    }
}

// libnghttp2's callbacks, which run within `receive` and `appendOutput`.
extension HTTP2Session {
    private static func callbacks() throws(TransferFailure) -> OpaquePointer {
        var made: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&made) == 0, let callbacks = unsafe made else { throw noMemory }
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { (session, frame, context) in
            // Other header blocks are those of pushed requests.
            guard let frame = unsafe frame, let connection = unsafe HTTP2Session.at(context) else { return 0 }
            let isReply = unsafe UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue
            connection.heading = unsafe isReply ? HTTP2Session.transfer(session, frame.pointee.hd.stream_id) : nil
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            (_, _, name, nameCount, value, valueCount, _, context) in
            guard let transfer = unsafe HTTP2Session.at(context)?.heading else { return 0 }
            let isTaken = unsafe transfer.received(
                headerName: UnsafeBufferPointer(start: name, count: nameCount).span,
                value: UnsafeBufferPointer(start: value, count: valueCount).span)
            return isTaken ? 0 : Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            (session, _, id, bytes, count, _) in
            guard let transfer = unsafe HTTP2Session.transfer(session, id) else { return 0 }
            guard unsafe !transfer.received(body: UnsafeBufferPointer(start: bytes, count: count).span) else {
                return 0
            }
            _ = unsafe nghttp2_submit_rst_stream(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, NGHTTP2_CANCEL.rawValue)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { (session, header, context) in
            guard let header = unsafe header?.pointee, UInt32(header.type) == NGHTTP2_DATA.rawValue,
                unsafe HTTP2Session.transfer(session, header.stream_id) == nil
            else { return 0 }
            unsafe HTTP2Session.at(context)?.ignoredBytes += header.length
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { (session, frame, context) in
            if let frame = unsafe frame { unsafe HTTP2Session.at(context)?.received(frame) }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { (session, frame, context) in
            guard let frame = unsafe frame, unsafe frame.pointee.hd.isEndOfRequest,
                let transfer = unsafe HTTP2Session.transfer(session, frame.pointee.hd.stream_id)
            else { return 0 }
            unsafe HTTP2Session.at(context)?.sent.append(transfer)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { (session, id, code, context) in
            guard let transfer = unsafe HTTP2Session.transfer(session, id) else { return 0 }
            unsafe HTTP2Session.at(context)?.closed(transfer, id, code)
            return 0
        }
        return unsafe callbacks
    }

    private func received(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = unsafe frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_GOAWAY.rawValue: lastProcessedStream = unsafe frame.pointee.goaway.last_stream_id
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            guard let transfer = unsafe HTTP2Session.transfer(session, header.stream_id) else { return }
            if UInt32(header.type) == NGHTTP2_HEADERS.rawValue { transfer.receivedHeaderBlock() }
            guard header.has(NGHTTP2_FLAG_END_STREAM) else { return }
            transfer.receivedEnd()
            // The server need not take the rest of the request (RFC 9113 section 8.1).
            guard transfer.hasBody, !transfer.isBodySent else { return }
            reset(transfer, header.stream_id)
            ended.append(Ended(transfer: transfer, end: .complete))
        default: break
        }
    }

    private func closed(_ transfer: Transfer, _ id: Int32, _ code: UInt32) {
        switch code {
        case _ where transfer.isOversized: end(transfer, .failed(.oversized))
        case NGHTTP2_NO_ERROR.rawValue:
            // A server may also reset a stream without an error.
            end(transfer, transfer.isWhole ? .complete : .failed(.reset))
        case NGHTTP2_REFUSED_STREAM.rawValue:
            // Above its limit, a server refuses the requests that were sent before the limit was known.
            if openStreams <= maxStreams { hasRefusedStream = true }
            end(transfer, refusal(of: id))
        case NGHTTP2_HTTP_1_1_REQUIRED.rawValue: end(transfer, .wantsHTTP1)
        default: end(transfer, .failed(.reset))
        }
    }

    /// Returns how a refused stream ends. A stream that the server calls processed and then refuses must count, or it
    /// would be sent without end.
    private func refusal(of id: Int32) -> TransferEnd {
        guard let last = lastProcessedStream, last > 0, id > last else { return .refused }
        return .leftOver
    }

    private static let readBody: nghttp2_data_source_read_callback = {
        (_, _, room, size, flags, source, _) in
        guard let context = unsafe source?.pointee.ptr, let room = unsafe room, let flags = unsafe flags else {
            return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
        let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        let bytes = transfer.nextBodyBytes(atMost: size)
        for (index, byte) in bytes.enumerated() { unsafe room[index] = byte }
        if transfer.isBodySent { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return bytes.count
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> HTTP2Session? {
        unsafe context.map { unsafe Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Returns the transfer of a stream; nil for a cancelled stream.
    private static func transfer(_ session: OpaquePointer?, _ id: Int32) -> Transfer? {
        guard let context = unsafe nghttp2_session_get_stream_user_data(session, id) else { return nil }
        return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }
}

extension nghttp2_frame_hd {
    fileprivate func has(_ flag: nghttp2_flag) -> Bool { UInt32(flags) & flag.rawValue != 0 }

    fileprivate var isEndOfRequest: Bool {
        guard has(NGHTTP2_FLAG_END_STREAM) else { return false }
        return UInt32(type) == NGHTTP2_HEADERS.rawValue || UInt32(type) == NGHTTP2_DATA.rawValue
    }
}
