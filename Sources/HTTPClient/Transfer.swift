// One request in progress: owns the libcurl handle, all memory that the handle points to, and the data received. The
// callbacks only record; they never call libcurl.

import CCurl
import DNSWire

@safe final class Transfer {
    /// An HTTPDNS reply has a few hundred bytes and a DNS message at most 65,535. The bound applies before and after
    /// decoding, which also stops compression bombs.
    static let maxBodyBytes = 65_536
    /// Providers send about a dozen headers; the bounds leave room for a CDN in front of them.
    static let maxHeaders = 64
    static let maxHeaderBytes = 16_384
    /// Fits OpenSSL's longest error text and a log line.
    static let maxReasonBytes = 120

    let id: TransferID
    /// The time since the first attempt started; nil for the first attempt.
    private let waited: Duration?
    private let wantsCertificate: Bool
    let easy: UnsafeMutableRawPointer
    let endpoint: HTTPEndpoint
    let errorText: UnsafeMutablePointer<CChar>
    let checkedName: UnsafeMutablePointer<CChar>?
    var headerLines = LineList()
    var dialRules = LineList()

    private var headers: [(name: String, value: String)] = []
    private var headerBytes = 0
    private var headersAreComplete = false
    private var body: [UInt8] = []
    private var isOversized = false

    init(
        id: TransferID, request: TransferRequest, retryAfter waited: Duration? = nil, ledger: SocketLedger
    ) throws(TransferFailure) {
        guard Transfer.isSendable(request) else { throw .badRequest }
        guard let easy = unsafe curl_easy_init() else { throw .local("no memory for a transfer") }
        self.id = id
        self.waited = waited
        wantsCertificate = request.wantsCertificate
        bodyBytes = request.method == .post ? request.body.count : 0
        unsafe self.easy = easy
        endpoint = request.endpoint
        unsafe errorText = UnsafeMutablePointer.allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        let ownCheck = endpoint.scheme == .https && endpoint.checkedName != endpoint.handshakeHost
        unsafe checkedName = ownCheck ? strdup(endpoint.checkedName) : nil
        try configureRequest(request)
        try configureConnection(request, ledger: ledger)
        if endpoint.scheme == .https { try configureTLS(request) }
        try configureReceiving()
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe errorText.deallocate()
        unsafe free(checkedName)
    }

    var isRetry: Bool { waited != nil }

    var isSent: Bool { time(CURLINFO_PRETRANSFER_TIME_T) > .zero }

    /// The local port of the connection; 0 or less until TCP is connected.
    var localPort: Int { number(CURLINFO_LOCAL_PORT) }

    /// The connection's progress when the last part of the request was sent; nil before.
    private(set) var sentAt: ConnectionProgress?
    private var uploadedBytes = 0
    private let bodyBytes: Int

    /// True if the whole request is sent, so `sentAt` is final.
    var isWhollySent: Bool { sentAt != nil && uploadedBytes >= bodyBytes }

    func noteSending(_ progress: @autoclosure () -> ConnectionProgress?) {
        var uploaded: curl_off_t = 0
        _ = unsafe ccurl_get_off(easy, CURLINFO_SIZE_UPLOAD_T, &uploaded)
        guard sentAt == nil || uploaded > uploadedBytes else { return }
        uploadedBytes = Int(uploaded)
        sentAt = progress()
    }

    /// Sent over a reused connection without any reply yet: the connection may be half-open.
    var isExposed: Bool { isSent && headerBytes == 0 && number(CURLINFO_NUM_CONNECTS) == 0 }

    /// Returns the result after libcurl has reported completion.
    ///
    /// - Parameter hasNeighbour: true if the set has an established connection, for which this transfer may have
    ///   waited.
    func result(_ code: CURLcode, hasNeighbour: Bool) -> Result<TransferReply, TransferFailure> {
        guard !isOversized else { return .failure(.oversized) }
        guard code == CURLE_OK else {
            let text = unsafe errorText.pointee == 0 ? String(cString: curl_easy_strerror(code)) : recordedError
            let systemError = Int32(truncatingIfNeeded: number(CURLINFO_OS_ERRNO))
            let failure = TransferFailure(
                code, systemError: systemError, text: text, overTLS: endpoint.scheme == .https,
                isConnected: hasNeighbour || localPort > 0)
            return .failure(endpoint.proxy == nil ? failure : seenThroughProxy(failure, code, text))
        }
        // libcurl accepts a reply that ends within its headers.
        guard headersAreComplete else { return .failure(.reset) }
        return Result { () throws(TransferFailure) in reply(body: try decodedBody()) }
    }

    private func decodedBody() throws(TransferFailure) -> [UInt8] {
        let values = { (name: String) in
            self.headers.filter { $0.name.lowercased() == name }.map { $0.value.lowercased() }
        }
        // libcurl decodes other transfer encodings unasked and accepts truncated ones.
        guard values("transfer-encoding").allSatisfy({ $0 == "chunked" }) else {
            throw .garbage("an unknown transfer encoding")
        }
        let encodings = values("content-encoding").filter { $0 != "identity" && $0 != "" }
        guard !encodings.isEmpty, !body.isEmpty else { return body }
        guard encodings == ["gzip"] || encodings == ["x-gzip"] else {
            throw .garbage("an unknown content encoding")
        }
        return try GzipBody.decoded(body, maxBytes: Transfer.maxBodyBytes)
    }

    private func reply(body: [UInt8]) -> TransferReply {
        let newConnections = number(CURLINFO_NUM_CONNECTS)
        let sinceStart = { (field: CURLINFO) in
            let time = self.time(field)
            return time == .zero ? .zero : time + (self.waited ?? .zero)
        }
        // libcurl reports a few microseconds for a reused connection.
        let isNew = newConnections > 0
        return TransferReply(
            status: number(CURLINFO_RESPONSE_CODE), headers: headers, body: body,
            httpVersion: number(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) ? .http2 : .http1,
            newConnections: newConnections, connectTime: isNew ? sinceStart(CURLINFO_CONNECT_TIME_T) : .zero,
            handshakeTime: isNew ? sinceStart(CURLINFO_APPCONNECT_TIME_T) : .zero,
            totalTime: sinceStart(CURLINFO_TOTAL_TIME_T),
            certificate: wantsCertificate ? unsafe PeerCertificate(of: easy) : nil)
    }

    /// Attributes failures before the tunnel is established to the proxy, except timeouts and local failures.
    private func seenThroughProxy(_ failure: TransferFailure, _ code: CURLcode, _ text: String) -> TransferFailure {
        let status = number(CURLINFO_HTTP_CONNECTCODE)
        switch (code, failure) {
        case (_, .timeout), (_, .unacknowledged), (CURLE_COULDNT_CONNECT, .local): return failure
        case (CURLE_COULDNT_CONNECT, _): return .proxy("no connection: \(failure.kind)")
        case (CURLE_PROXY, _): return .proxy(text)
        case (_, .reset), (_, .garbage):
            guard time(CURLINFO_PRETRANSFER_TIME_T) == .zero else { return failure }
            return .proxy(status == 0 ? text : "status \(status)")
        default: return failure
        }
    }

    private var recordedError: String {
        let text = unsafe String(cString: errorText)
        return String(decoding: text.utf8.prefix(Transfer.maxReasonBytes), as: UTF8.self)
    }

    private func number(_ field: CURLINFO) -> Int {
        var value = 0
        _ = unsafe ccurl_get_long(easy, field, &value)
        return value
    }

    /// Returns the time since the start; zero if the phase did not occur.
    private func time(_ field: CURLINFO) -> Duration {
        var microseconds: curl_off_t = 0
        _ = unsafe ccurl_get_off(easy, field, &microseconds)
        return .microseconds(microseconds)
    }

    /// Rejects line breaks, which would let a value inject headers.
    private static func isSendable(_ request: TransferRequest) -> Bool {
        let text = request.headers.flatMap { [$0.name, $0.value] }
        return request.target.utf8.first == UInt8(ascii: "/")
            && request.target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            && request.headers.allSatisfy { !$0.name.isEmpty && !$0.name.utf8.contains(UInt8(ascii: ":")) }
            && text.allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
    }
}

// libcurl's callbacks. Each returns false to abort the transfer.
extension Transfer {
    func received(body bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= Transfer.maxBodyBytes else {
            isOversized = true
            return false
        }
        unsafe body.append(contentsOf: bytes)
        return true
    }

    /// Receives one header line, including status lines and the final empty line.
    func received(headerLine bytes: UnsafeRawBufferPointer) -> Bool {
        let line = unsafe String(decoding: bytes, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // A new status line starts the real reply; discards the headers of the interim one (RFC 9110 section
            // 15.2).
            headers = []
            headersAreComplete = false
        }
        headerBytes += bytes.count
        guard headerBytes <= Transfer.maxHeaderBytes, headers.count <= Transfer.maxHeaders else {
            isOversized = true
            return false
        }
        let isEnd = line.utf8.allSatisfy { $0 == 0x0D || $0 == 0x0A }
        // Lines after the end are trailers and must not count as headers (RFC 9110 section 6.5.1).
        headersAreComplete = headersAreComplete || isEnd
        guard !headersAreComplete, let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return true }
        headers.append((String(line[..<colon]), Transfer.trimmed(line[line.utf8.index(after: colon)...])))
        return true
    }

    private static func trimmed(_ text: Substring) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
        let bytes = text.utf8.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
        return String(decoding: Array(bytes), as: UTF8.self)
    }
}
