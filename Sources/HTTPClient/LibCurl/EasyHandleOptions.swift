// Sets the libcurl options of a transfer, each once; other options keep libcurl's default. Reads no environment
// variable.

import CCurl
import DNSWire

extension EasyHandle {
    func configureRequest(_ request: TransferRequest, timeout: Duration) throws(TransferFailure) {
        try set(CURLOPT_URL, endpoint.url(target: request.message.url))
        try set(CURLOPT_PATH_AS_IS, 1)
        if request.message.method == .post {
            try set(CURLOPT_POST, 1)
            try check(
                unsafe request.message.body.withUnsafeBytes {
                    unsafe ccurl_set_bytes(raw, $0.baseAddress, curl_off_t($0.count))
                })
        }
        var lines = request.message.headers.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        if let host = endpoint.ownHostHeader { lines.append("Host: \(host)") }
        for line in lines { try headerLines.append(line) }
        try check(unsafe ccurl_set_list(raw, CURLOPT_HTTPHEADER, headerLines.first))
        try set(CURLOPT_TIMEOUT_MS, timeout.timeoutMilliseconds)
        try set(CURLOPT_CONNECTTIMEOUT_MS, min(request.connectTimeout, timeout).timeoutMilliseconds)
    }

    func configureConnection(_ request: TransferRequest, ledger: SocketLedger) throws(TransferFailure) {
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        // Empty strings also disable the proxy environment variables.
        try set(CURLOPT_PROXY, endpoint.proxy?.url ?? "")
        try set(CURLOPT_NOPROXY, "")
        try dialRules.append(endpoint.dialRule)
        try check(unsafe ccurl_set_list(raw, CURLOPT_CONNECT_TO, dialRules.first))
        try set(CURLOPT_MAXAGE_CONN, endpoint.idleSeconds)
        try set(CURLOPT_FRESH_CONNECT, request.needsOwnConnection ? 1 : 0)
        try set(CURLOPT_FORBID_REUSE, request.needsOwnConnection ? 1 : 0)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_TCP_KEEPIDLE, endpoint.idleSeconds)
        try set(CURLOPT_TCP_KEEPINTVL, endpoint.idleSeconds)
        try set(CURLOPT_TCP_NODELAY, 1)
        let isHTTPS = endpoint.scheme == .https
        try set(CURLOPT_HTTP_VERSION, isHTTPS ? Int(CURL_HTTP_VERSION_2TLS) : Int(CURL_HTTP_VERSION_1_1))
        // Without TLS there is no HTTP/2, and waiting for it would serialise the first requests.
        try set(CURLOPT_PIPEWAIT, isHTTPS ? 1 : 0)
        try check(unsafe ledger.watchSockets(of: raw))
        if endpoint.proxy != nil { try configureProxy() }
    }

    private func configureProxy() throws(TransferFailure) {
        try set(CURLOPT_HTTPPROXYTUNNEL, 1)
        // The proxy's headers are not part of the reply.
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // 1 is CURLAUTH_BASIC, a macro that Swift does not import. Otherwise a SOCKS proxy could choose Kerberos.
        try set(CURLOPT_SOCKS5_AUTH, 1)
    }

    func configureTLS(_ request: TransferRequest) throws(TransferFailure) {
        try set(CURLOPT_CERTINFO, request.wantsCertificate ? 1 : 0)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        // libcurl would verify the SNI name, and accept it as the subject; OpenSSL verifies the configured name
        // instead.
        guard let checkedName = unsafe checkedName else { throw .local("no memory for a name") }
        try set(CURLOPT_SSL_VERIFYHOST, 0)
        try check(unsafe ccurl_set_verify_name(raw, checkedName))
        if let caFile = endpoint.caFile {
            try set(CURLOPT_CAINFO, caFile)
            try check(unsafe ccurl_set_string(raw, CURLOPT_CAPATH, nil))
        } else if unsafe ccurl_version().pointee.capath != nil {
            // OpenSSL reads only the required root from the directory. It would parse and hold the whole bundle for
            // each connection.
            try check(unsafe ccurl_set_string(raw, CURLOPT_CAINFO, nil))
        }
    }

    func configureReceiving() throws(TransferFailure) {
        try set(CURLOPT_ACCEPT_ENCODING, "gzip")
        // Compression is accepted from the server, but decoded by `GzipBody`.
        try set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        try check(unsafe ccurl_set_off(raw, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(TransferReply.maxBodyBytes)))
        try check(unsafe ccurl_set_pointer(raw, CURLOPT_ERRORBUFFER, errorText))
    }

    private func set(_ option: CURLoption, _ value: Int) throws(TransferFailure) {
        try check(unsafe ccurl_set_long(raw, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(TransferFailure) {
        try check(unsafe ccurl_set_string(raw, option, value))
    }

    func check(_ code: CURLcode) throws(TransferFailure) {
        guard code == CURLE_OK else { throw .local(unsafe String(cString: curl_easy_strerror(code))) }
    }
}

/// Owns a libcurl string list, which libcurl reads while the transfer runs.
@safe struct LineList: ~Copyable {
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
    /// The duration in milliseconds, rounded up and at least 1, since libcurl treats 0 as no limit.
    fileprivate var timeoutMilliseconds: Int {
        min(max((self + .nanoseconds(999_999)).wholeMilliseconds, 1), Int(Int32.max))
    }
}
