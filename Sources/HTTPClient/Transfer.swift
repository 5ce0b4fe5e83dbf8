// One request in progress and the reply received so far, which a session of HTTP/1.1 or HTTP/2 records here.

import DNSWire

final class Transfer {
    /// Providers send about a dozen headers; the bounds leave room for a CDN in front of them.
    static let maxHeaders = 64
    /// Initial room for the headers.
    private static let usualHeaderBytes = 256
    static let maxHeaderBytes = 16_384

    let id: TransferID
    let request: TransferRequest
    let startedAt: Instant
    /// The time since the first attempt started; nil for the first attempt.
    private let waited: Duration?

    /// The connection that carries the request; nil: the request waits for one.
    var connection: ConnectionState?
    /// The number of the `ConnectionSet` that the transfer runs in.
    var setNumber = 0
    /// The position in the list of the transfer's connection.
    var index = 0
    /// The ID of an HTTP/2 stream that has not ended.
    var streamID: Int32?
    /// True if a connection was opened for this request.
    var opensConnection = false
    /// Attempts that ended although the server had not processed the request.
    var refusals = 0
    /// How the transfer has ended; nil: not yet.
    var result: Result<TransferReply, TransferFailure>?

    private var status = 0
    private var headers = HTTPHeaders()
    private var headerBytes = 0
    private var headersAreComplete = false
    private var body: [UInt8] = []
    private(set) var isOversized = false
    /// True if a part of the reply has arrived.
    private var hasReply = false
    /// True if the HTTP/2 stream has brought the end of the reply.
    private(set) var isWhole = false

    init(id: TransferID, request: TransferRequest, retryAfter waited: Duration? = nil, now: Instant)
        throws(TransferFailure)
    {
        guard Transfer.isSendable(request.message) else { throw .badRequest }
        (self.id, self.request, self.waited, startedAt) = (id, request, waited, now)
    }

    var isRetry: Bool { waited != nil }

    // MARK: sending

    /// The connection's progress when the last part of the request was sent; nil before that.
    private(set) var sentAt: ConnectionProgress?
    /// True if the whole request is sent, so `sentAt` is final.
    private(set) var isWhollySent = false
    /// True if an HTTP/1.1 connection has ended after it had sent a part of the request.
    private(set) var wasSentBefore = false
    private var uploadedBytes = 0

    var hasBody: Bool { request.message.method == .post }

    var isSent: Bool { sentAt != nil }

    /// True if an open connection has not taken the whole request: its stream limit, window or socket is full.
    var isHeldBack: Bool { connection?.isOpen ?? false && !isWhollySent }

    var isOverHTTP2: Bool { connection?.httpVersion == .http2 }

    /// The request was sent over a reused connection and has no reply yet: the connection may be half-open.
    var isExposed: Bool { isSent && !hasReply && !opensConnection }

    /// Records that the connection has sent a part of the request, or all of it.
    func noteSent(_ progress: ConnectionProgress, isWhole: Bool) { (sentAt, isWhollySent) = (progress, isWhole) }

    /// Returns the next bytes of the body.
    func nextBodyBytes(atMost count: Int) -> ArraySlice<UInt8> {
        let bytes = request.message.body[uploadedBytes...].prefix(count)
        uploadedBytes += bytes.count
        return bytes
    }

    var isBodySent: Bool { uploadedBytes == request.message.body.count }

    /// Prepares the transfer for another connection or stream. A refused stream has not processed the request.
    func restart() {
        wasSentBefore = wasSentBefore || isSent && !isOverHTTP2
        connection = nil
        (streamID, sentAt, isWhollySent, uploadedBytes, opensConnection) = (nil, nil, false, 0, false)
        (status, headers, headerBytes, headersAreComplete) = (0, HTTPHeaders(), 0, false)
        (body, hasReply, isWhole) = ([], false, false)
    }

    // MARK: receiving

    /// Receives a part of the body.
    ///
    /// - Returns: false if the body is too large.
    func received(body bytes: Span<UInt8>) -> Bool {
        guard body.count + bytes.count <= TransferReply.maxBodyBytes else {
            isOversized = true
            return false
        }
        body.append(addingCapacity: bytes.count) { $0.append(bytes) }
        return true
    }

    /// Receives any bytes of an HTTP/1.1 reply.
    func receivedBytes() { hasReply = true }

    /// Receives the status of the reply, and discards the headers of an interim reply (RFC 9110 section 15.2).
    func received(status: Int) {
        self.status = status
        headers = HTTPHeaders(reserving: Transfer.usualHeaderBytes)
        headersAreComplete = false
    }

    /// Receives one header field of HTTP/1.1.
    func received(field name: Span<UInt8>, _ value: Span<UInt8>) { headers.add(name: name, value: value) }

    /// Receives one header field of HTTP/2.
    ///
    /// - Returns: false if the headers are too large.
    func received(headerName name: Span<UInt8>, value: Span<UInt8>) -> Bool {
        hasReply = true
        let isPseudo = !name.isEmpty && name[0] == UInt8(ascii: ":")
        // Replies have no other pseudo-header; libnghttp2 lets three digits pass.
        if isPseudo { received(status: value.indices.reduce(0) { 10 * $0 + Int(value[$1]) - 0x30 }) }
        // The size in the form of HTTP/1.1: ": " and the end of the line.
        guard takesHeader(of: name.count + value.count + 4) else { return false }
        guard !headersAreComplete, !isPseudo else { return true }
        headers.add(name: name, value: value)
        return true
    }

    /// Receives the end of a header block of HTTP/2.
    func receivedHeaderBlock() { headersAreComplete = headersAreComplete || status >= 200 }

    /// Receives the end of an HTTP/2 stream.
    func receivedEnd() { isWhole = true }

    private func takesHeader(of bytes: Int) -> Bool {
        headerBytes += bytes
        isOversized = isOversized || headerBytes > Transfer.maxHeaderBytes || headers.count > Transfer.maxHeaders
        return !isOversized
    }

    // MARK: the result

    /// Returns the reply after the session has reported its end.
    func reply(now: Instant) -> Result<TransferReply, TransferFailure> {
        guard headersAreComplete else { return .failure(.reset) }
        return Result { () throws(TransferFailure) in reply(body: try decodedBody(), now: now) }
    }

    private func reply(body: [UInt8], now: Instant) -> TransferReply {
        let opened = opensConnection ? connection : nil
        return TransferReply(
            status: status, headers: headers, body: body, httpVersion: connection?.httpVersion ?? .http1,
            newConnections: opensConnection ? 1 : 0, connectTime: time(until: opened?.connectedAt),
            handshakeTime: opened?.isSecure ?? false ? time(until: opened?.openedAt) : .zero,
            totalTime: time(until: now), certificate: request.wantsCertificate ? opened?.certificate : nil,
            keyExchange: opened?.keyExchange)
    }

    /// Returns the time since the first attempt started; zero without an end.
    private func time(until end: Instant?) -> Duration {
        end.map { startedAt.duration(to: $0) + (waited ?? .zero) } ?? .zero
    }

    private func decodedBody() throws(TransferFailure) -> [UInt8] {
        let values = headers.values(of: "content-encoding")
        guard !values.isEmpty, !body.isEmpty else { return body }
        let encodings = values.map(Transfer.lowercased).filter { $0 != "identity" && $0 != "" }
        guard !encodings.isEmpty else { return body }
        guard encodings == ["gzip"] || encodings == ["x-gzip"] else {
            throw .garbage("an unknown content encoding")
        }
        return try GzipBody.decoded(body, maxBytes: TransferReply.maxBodyBytes)
    }

    private static func lowercased(_ value: ArraySlice<UInt8>) -> String {
        String(decoding: value, as: UTF8.self).lowercased()
    }

    /// Rejects line breaks, which would let a value inject headers.
    private static func isSendable(_ request: HTTPRequest) -> Bool {
        guard request.target.first == UInt8(ascii: "/"), haveAll(request.target.span, { $0 > 0x20 && $0 < 0x7F }) else {
            return false
        }
        let bytes = request.headers.bytes.span
        var places = request.headers.places
        while let place = places.next() {
            let (name, value) = (bytes.extracting(place.name), bytes.extracting(place.value))
            guard !name.isEmpty, haveAll(name, { isText($0) && $0 != UInt8(ascii: ":") }), haveAll(value, isText) else {
                return false
            }
        }
        return true
    }

    private static func isText(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F }

    /// Looks at every byte, since a loop without an exit takes many bytes at once.
    @inline(__always)
    private static func haveAll(_ bytes: Span<UInt8>, _ isMeant: (UInt8) -> Bool) -> Bool {
        var (faults, index): (UInt8, Int) = (0, 0)
        while index < bytes.count {
            faults |= unsafe isMeant(bytes[unchecked: index]) ? 0 : 1
            index &+= 1
        }
        return faults == 0
    }
}
