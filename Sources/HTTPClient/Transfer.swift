// One request on its way: owns the libcurl handle, everything the handle points to, and what came back so far.
// What libcurl reports is only recorded here; nothing calls libcurl from its own callbacks.

import CCurl

@safe final class Transfer {
    /// An HTTPDNS reply is a few hundred bytes and a DNS message at most 65,535; counted after decoding, so a
    /// compressed bomb ends here as well.
    static let maxBodyBytes = 65_536
    /// Providers send about a dozen headers; the bounds leave room for a CDN in front of them.
    static let maxHeaders = 64
    static let maxHeaderBytes = 16_384
    /// Long enough for OpenSSL's longest reason, short enough for a log line.
    static let maxReasonBytes = 120

    let id: TransferID
    let easy: UnsafeMutableRawPointer
    private let endpoint: HTTPEndpoint
    private let errorText: UnsafeMutablePointer<CChar>
    private let checkedName: UnsafeMutablePointer<CChar>?
    private var headerLines = LineList()
    private var dialRules = LineList()

    private var headers: [(name: String, value: String)] = []
    private var headerBytes = 0
    private var headersAreComplete = false
    private var body: [UInt8] = []
    private var isOversized = false

    init(id: TransferID, request: TransferRequest, ledger: SocketLedger) throws(TransferFailure) {
        guard Transfer.isSendable(request) else { throw .badRequest }
        guard let easy = unsafe curl_easy_init() else { throw .local("no memory for a transfer") }
        self.id = id
        unsafe self.easy = easy
        endpoint = request.endpoint
        unsafe errorText = UnsafeMutablePointer.allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        let ownCheck = endpoint.scheme == .https && endpoint.checkedName != endpoint.handshakeHost
        unsafe checkedName = ownCheck ? strdup(endpoint.checkedName) : nil
        try configureRequest(request)
        try configureConnection(request, ledger: ledger)
        if endpoint.scheme == .https { try configureTLS() }
        try configureReceiving()
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe errorText.deallocate()
        unsafe free(checkedName)
    }

    /// After libcurl said that the transfer is done.
    func result(_ code: CURLcode) -> Result<TransferReply, TransferFailure> {
        guard !isOversized else { return .failure(.oversized) }
        guard code == CURLE_OK else {
            let text = unsafe errorText.pointee == 0 ? String(cString: curl_easy_strerror(code)) : recordedError
            let systemError = Int32(truncatingIfNeeded: number(CURLINFO_OS_ERRNO))
            return .failure(
                TransferFailure(
                    code, systemError: systemError, text: text, overTLS: endpoint.scheme == .https))
        }
        // libcurl is content with a reply that ends inside its headers.
        guard headersAreComplete else { return .failure(.reset) }
        var microseconds: curl_off_t = 0
        _ = unsafe ccurl_get_off(easy, CURLINFO_TOTAL_TIME_T, &microseconds)
        return .success(
            TransferReply(
                status: number(CURLINFO_RESPONSE_CODE), headers: headers, body: body,
                httpVersion: number(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) ? .http2 : .http1,
                newConnections: number(CURLINFO_NUM_CONNECTS), totalTime: .microseconds(microseconds)))
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

    /// A line break would let a value add headers of its own.
    private static func isSendable(_ request: TransferRequest) -> Bool {
        let text = request.headers.flatMap { [$0.name, $0.value] }
        return request.target.utf8.first == UInt8(ascii: "/")
            && request.target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            && request.headers.allSatisfy { !$0.name.isEmpty && !$0.name.utf8.contains(UInt8(ascii: ":")) }
            && text.allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
    }
}

// What libcurl hands over. Answers tell it whether to go on.
extension Transfer {
    fileprivate func received(body bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= Transfer.maxBodyBytes else {
            isOversized = true
            return false
        }
        unsafe body.append(contentsOf: bytes)
        return true
    }

    /// One line, status lines and the empty line at the end included.
    fileprivate func received(headerLine bytes: UnsafeRawBufferPointer) -> Bool {
        let line = unsafe String(decoding: bytes, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // The real reply begins; what came with an interim one (RFC 9110 section 15.2) is over.
            headers = []
            headersAreComplete = false
        }
        headerBytes += bytes.count
        guard headerBytes <= Transfer.maxHeaderBytes, headers.count <= Transfer.maxHeaders else {
            isOversized = true
            return false
        }
        let isEnd = line.utf8.allSatisfy { $0 == 0x0D || $0 == 0x0A }
        // What follows the end is a trailer, which must not pass for a header (RFC 9110 section 6.5.1).
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

// The options, each set once; what is not here stays at libcurl's default.
extension Transfer {
    private func configureRequest(_ request: TransferRequest) throws(TransferFailure) {
        try set(CURLOPT_URL, endpoint.url(target: request.target))
        try set(CURLOPT_PATH_AS_IS, 1)
        if request.method == .post {
            try set(CURLOPT_POST, 1)
            try check(
                unsafe request.body.withUnsafeBytes {
                    unsafe ccurl_set_bytes(easy, $0.baseAddress, curl_off_t($0.count))
                })
        }
        var lines = request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        if let host = endpoint.ownHostHeader { lines.append("Host: \(host)") }
        for line in lines { try headerLines.append(line) }
        try check(unsafe ccurl_set_list(easy, CURLOPT_HTTPHEADER, headerLines.first))
        try set(CURLOPT_TIMEOUT_MS, request.timeout.wholeMilliseconds)
        try set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout.wholeMilliseconds)
    }

    private func configureConnection(_ request: TransferRequest, ledger: SocketLedger) throws(TransferFailure) {
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        // The empty string also keeps the proxies out that the environment names.
        try set(CURLOPT_PROXY, "")
        try dialRules.append(endpoint.dialRule)
        try check(unsafe ccurl_set_list(easy, CURLOPT_CONNECT_TO, dialRules.first))
        try set(CURLOPT_MAXAGE_CONN, ConnectionPool.idleSeconds)
        try set(CURLOPT_FRESH_CONNECT, request.needsOwnConnection ? 1 : 0)
        try set(CURLOPT_FORBID_REUSE, request.needsOwnConnection ? 1 : 0)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_TCP_KEEPIDLE, ConnectionPool.idleSeconds)
        try set(CURLOPT_TCP_KEEPINTVL, ConnectionPool.idleSeconds)
        try set(CURLOPT_TCP_NODELAY, 1)
        let isHTTPS = endpoint.scheme == .https
        try set(CURLOPT_HTTP_VERSION, isHTTPS ? Int(CURL_HTTP_VERSION_2TLS) : Int(CURL_HTTP_VERSION_1_1))
        // Without TLS there is no HTTP/2 to wait for, and waiting would put the first requests in a row.
        try set(CURLOPT_PIPEWAIT, isHTTPS ? 1 : 0)
        try check(unsafe ledger.watchSockets(of: easy))
    }

    private func configureTLS() throws(TransferFailure) {
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        if let checkedName = unsafe checkedName {
            // libcurl would check for the name in the handshake; OpenSSL checks for the wanted one instead.
            try set(CURLOPT_SSL_VERIFYHOST, 0)
            try check(unsafe ccurl_set_verify_name(easy, checkedName))
        } else {
            try set(CURLOPT_SSL_VERIFYHOST, 2)
        }
        if let caFile = endpoint.caFile {
            try set(CURLOPT_CAINFO, caFile)
            try check(unsafe ccurl_set_string(easy, CURLOPT_CAPATH, nil))
        } else if unsafe ccurl_version().pointee.capath != nil {
            // From the directory OpenSSL reads the one root that it needs; the bundle would be parsed whole, and held,
            // for each connection.
            try check(unsafe ccurl_set_string(easy, CURLOPT_CAINFO, nil))
        }
    }

    private func configureReceiving() throws(TransferFailure) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try set(CURLOPT_ACCEPT_ENCODING, "gzip")
        try check(unsafe ccurl_set_off(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(Transfer.maxBodyBytes)))
        try check(unsafe ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText))
        try check(unsafe ccurl_set_pointer(easy, CURLOPT_WRITEDATA, context))
        try check(unsafe ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context))
        try check(
            unsafe ccurl_set_receiver(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                unsafe Transfer.passing(bytes, size * count, context) { unsafe $0.received(body: $1) }
            })
        try check(
            unsafe ccurl_set_receiver(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                unsafe Transfer.passing(bytes, size * count, context) { unsafe $0.received(headerLine: $1) }
            })
    }

    /// The count taken, as libcurl wants it: anything but all of it ends the transfer.
    private static func passing(
        _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
        to receive: (Transfer, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
        guard let context = unsafe context, count > 0 else { return 0 }
        let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        return unsafe receive(transfer, UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
    }

    private func set(_ option: CURLoption, _ value: Int) throws(TransferFailure) {
        try check(unsafe ccurl_set_long(easy, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(TransferFailure) {
        try check(unsafe ccurl_set_string(easy, option, value))
    }

    private func check(_ code: CURLcode) throws(TransferFailure) {
        guard code == CURLE_OK else { throw .local(unsafe String(cString: curl_easy_strerror(code))) }
    }
}

/// Owns a list of lines that libcurl reads while the transfer runs.
@safe private struct LineList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    init() {
        unsafe first = nil
    }

    mutating func append(_ line: String) throws(TransferFailure) {
        guard let longer = unsafe curl_slist_append(first, line) else { throw .local("no memory for a header") }
        unsafe first = longer
    }

    deinit {
        unsafe curl_slist_free_all(first)
    }
}

extension Duration {
    /// Rounded up, at least 1: libcurl takes 0 for "no limit".
    fileprivate var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        let milliseconds = seconds.multipliedReportingOverflow(by: 1000)
        guard !milliseconds.overflow else { return Int(Int32.max) }
        let part = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int(min(max(milliseconds.partialValue + part, 1), Int64(Int32.max)))
    }
}
