// One request in progress and the reply received so far, over libcurl or an HTTP/2 stream, which only record here.

import DNSWire

final class Transfer {
    /// Providers send about a dozen headers; the bounds leave room for a CDN in front of them.
    static let maxHeaders = 64
    /// Initial room for the headers.
    private static let usualHeaderBytes = 256
    static let maxHeaderBytes = 16_384

    /// The carrier of the request.
    enum Carrier {
        /// The request is not started yet.
        case none
        case libcurl(EasyHandle)
        case http2(HTTP2Connection)
    }

    let id: TransferID
    let request: TransferRequest
    let startedAt: Instant
    /// The time since the first attempt started; nil for the first attempt.
    private let waited: Duration?

    var carrier = Carrier.none
    /// The number of the `ConnectionSet` that the transfer runs in.
    var setNumber = 0
    /// The position in the list of the transfer's HTTP/2 connection.
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
    /// True if the HTTP/2 stream has brought the end of the reply.
    private(set) var isWhole = false

    init(id: TransferID, request: TransferRequest, retryAfter waited: Duration? = nil, now: Instant)
        throws(TransferFailure)
    {
        guard Transfer.isSendable(request.message) else { throw .badRequest }
        (self.id, self.request, self.waited, startedAt) = (id, request, waited, now)
    }

    var isRetry: Bool { waited != nil }

    /// The local port of the connection; 0 or less until TCP is connected.
    var localPort: Int {
        switch carrier {
        case .none: 0
        case .libcurl(let easy): easy.localPort
        case .http2(let connection): connection.localPort
        }
    }

    // MARK: sending

    /// The connection's progress when the last part of the request was sent; nil before that.
    private(set) var sentAt: ConnectionProgress?
    private var uploadedBytes = 0

    var hasBody: Bool { request.message.method == .post }

    var isSent: Bool {
        if case .libcurl(let easy) = carrier { return easy.isSent }
        return sentAt != nil
    }

    /// True if an open HTTP/2 connection has not taken the whole request: its stream limit, window or socket is full.
    var isHeldBack: Bool {
        if case .http2(let connection) = carrier { connection.isOpen && sentAt == nil } else { false }
    }

    var isOverHTTP2: Bool {
        if case .http2 = carrier { true } else { false }
    }

    /// True if the whole request is sent, so `sentAt` is final.
    var isWhollySent: Bool {
        guard case .libcurl = carrier else { return sentAt != nil }
        return sentAt != nil && (!hasBody || uploadedBytes >= request.message.body.count)
    }

    /// The request was sent over a reused connection and has no reply yet: the connection may be half-open.
    var isExposed: Bool { isSent && headerBytes == 0 && newConnections == 0 }

    /// Records that libcurl may have sent a part of the request.
    func noteSending(_ progress: @autoclosure () -> ConnectionProgress?) {
        guard case .libcurl(let easy) = carrier, easy.isSent else { return }
        let uploaded = easy.uploadedBytes
        guard sentAt == nil || uploaded > uploadedBytes else { return }
        uploadedBytes = uploaded
        sentAt = progress()
    }

    /// Records that the HTTP/2 stream has sent the whole request.
    func noteSent(_ progress: ConnectionProgress) { sentAt = progress }

    /// Returns the next bytes of the body for an HTTP/2 stream.
    func nextBodyBytes(atMost count: Int) -> ArraySlice<UInt8> {
        let bytes = request.message.body[uploadedBytes...].prefix(count)
        uploadedBytes += bytes.count
        return bytes
    }

    var isBodySent: Bool { uploadedBytes == request.message.body.count }

    /// Prepares the transfer for a new stream or handle.
    func restart() {
        carrier = .none
        (streamID, sentAt, uploadedBytes, opensConnection) = (nil, nil, 0, false)
        (status, headers, headerBytes, headersAreComplete, body, isWhole) = (0, HTTPHeaders(), 0, false, [], false)
    }

    // MARK: receiving

    /// Receives a part of the body. Each `received` function that returns false aborts the transfer.
    func received(body bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= TransferReply.maxBodyBytes else {
            isOversized = true
            return false
        }
        unsafe body.append(contentsOf: bytes)
        return true
    }

    /// Receives one header line of HTTP/1.1, including status lines and the final empty line.
    func received(headerLine line: Span<UInt8>) -> Bool {
        if Transfer.isStatus(line) { beginHeaders() }
        guard takesHeader(of: line.count) else { return false }
        let isEnd = line.indices.allSatisfy { line[$0] == 0x0D || line[$0] == 0x0A }
        // Lines after the end of the headers are trailers and must not count as headers (RFC 9110 section 6.5.1).
        headersAreComplete = headersAreComplete || isEnd
        guard !headersAreComplete, let colon = line.indices.first(where: { line[$0] == UInt8(ascii: ":") }) else {
            return true
        }
        headers.add(name: line.extracting(..<colon), value: Transfer.trimmed(line.extracting((colon + 1)...)))
        return true
    }

    /// Receives one header field of HTTP/2.
    func received(headerName name: Span<UInt8>, value: Span<UInt8>) -> Bool {
        let isPseudo = !name.isEmpty && name[0] == UInt8(ascii: ":")
        // Replies have no other pseudo-header; libnghttp2 lets three digits pass.
        if isPseudo {
            beginHeaders()
            status = 0
            for index in value.indices { status = 10 * status + Int(value[index]) - 0x30 }
        }
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

    /// Begins the headers of a new status, which starts the real reply; discards the headers of the interim reply (RFC
    /// 9110 section 15.2).
    private func beginHeaders() {
        headers = HTTPHeaders(reserving: Transfer.usualHeaderBytes)
        headersAreComplete = false
    }

    private func takesHeader(of bytes: Int) -> Bool {
        headerBytes += bytes
        isOversized = isOversized || headerBytes > Transfer.maxHeaderBytes || headers.count > Transfer.maxHeaders
        return !isOversized
    }

    private static func isStatus(_ line: Span<UInt8>) -> Bool {
        let start = "HTTP/".utf8.span
        return line.count >= start.count && start.indices.allSatisfy { line[$0] == start[$0] }
    }

    @_lifetime(copy text)
    private static func trimmed(_ text: Span<UInt8>) -> Span<UInt8> {
        var (start, end) = (0, text.count)
        while start < end, isBlank(text[start]) { start += 1 }
        while start < end, isBlank(text[end - 1]) { end -= 1 }
        return text.extracting(start..<end)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }

    // MARK: the result

    private var newConnections: Int {
        if case .libcurl(let easy) = carrier { return easy.newConnections }
        return opensConnection ? 1 : 0
    }

    /// Returns the reply after the carrier has reported its end.
    func reply(now: Instant) -> Result<TransferReply, TransferFailure> {
        // libcurl accepts a reply that ends within its headers.
        guard headersAreComplete else { return .failure(.reset) }
        return Result { () throws(TransferFailure) in reply(body: try decodedBody(), now: now) }
    }

    private func reply(body: [UInt8], now: Instant) -> TransferReply {
        let sinceStart = { (time: Duration) in time == .zero ? .zero : time + (self.waited ?? .zero) }
        var times = (connect: Duration.zero, handshake: Duration.zero, total: Duration.zero)
        var (status, version) = (status, TransferReply.HTTPVersion.http2)
        var certificate: PeerCertificate?
        switch carrier {
        case .none: break
        case .libcurl(let easy):
            (status, version) = (easy.status, easy.httpVersion)
            times = easy.times
            certificate = request.wantsCertificate ? easy.certificate : nil
        case .http2(let connection):
            times.connect = connection.connectedAt.map { startedAt.duration(to: $0) } ?? .zero
            times.handshake = connection.openedAt.map { startedAt.duration(to: $0) } ?? .zero
            times.total = startedAt.duration(to: now)
        }
        // libcurl reports a few microseconds for a reused connection.
        let isNew = newConnections > 0
        return TransferReply(
            status: status, headers: headers, body: body, httpVersion: version, newConnections: newConnections,
            connectTime: isNew ? sinceStart(times.connect) : .zero,
            handshakeTime: isNew ? sinceStart(times.handshake) : .zero, totalTime: sinceStart(times.total),
            certificate: certificate)
    }

    private func decodedBody() throws(TransferFailure) -> [UInt8] {
        // libcurl decodes other transfer encodings unasked and accepts truncated ones.
        let codings = headers.values(of: "transfer-encoding")
        guard codings.isEmpty || codings.allSatisfy({ Transfer.lowercased($0) == "chunked" }) else {
            throw .garbage("an unknown transfer encoding")
        }
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
