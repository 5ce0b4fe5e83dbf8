// One request over libcurl: owns the easy handle and all memory that it points to. The callbacks only record; they
// never call libcurl.

import CCurl
import DNSWire

@safe final class EasyHandle {
    let raw: UnsafeMutableRawPointer
    let endpoint: HTTPEndpoint
    let errorText: UnsafeMutablePointer<CChar>
    let checkedName: UnsafeMutablePointer<CChar>?
    var headerLines = LineList()
    var dialRules = LineList()

    /// - Parameter timeout: the remaining time of the request.
    init(_ request: TransferRequest, timeout: Duration, ledger: SocketLedger) throws(TransferFailure) {
        guard let raw = unsafe curl_easy_init() else { throw .local("no memory for a transfer") }
        unsafe self.raw = raw
        endpoint = request.endpoint
        unsafe errorText = UnsafeMutablePointer.allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe checkedName = endpoint.scheme == .https ? strdup(endpoint.checkedName) : nil
        try configureRequest(request, timeout: timeout)
        try configureConnection(request, ledger: ledger)
        if endpoint.scheme == .https { try configureTLS(request) }
        try configureReceiving()
    }

    deinit {
        unsafe curl_easy_cleanup(raw)
        unsafe errorText.deallocate()
        unsafe free(checkedName)
    }

    var isSent: Bool { time(CURLINFO_PRETRANSFER_TIME_T) > .zero }

    var uploadedBytes: Int {
        var uploaded: curl_off_t = 0
        _ = unsafe ccurl_get_off(raw, CURLINFO_SIZE_UPLOAD_T, &uploaded)
        return Int(uploaded)
    }

    /// The local port of the connection; 0 or less until TCP is connected.
    var localPort: Int { number(CURLINFO_LOCAL_PORT) }

    var newConnections: Int { number(CURLINFO_NUM_CONNECTS) }

    var status: Int { number(CURLINFO_RESPONSE_CODE) }

    var httpVersion: TransferReply.HTTPVersion {
        number(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) ? .http2 : .http1
    }

    /// Times since the start of the handle.
    var times: (connect: Duration, handshake: Duration, total: Duration) {
        (time(CURLINFO_CONNECT_TIME_T), time(CURLINFO_APPCONNECT_TIME_T), time(CURLINFO_TOTAL_TIME_T))
    }

    var certificate: PeerCertificate? { unsafe PeerCertificate(of: raw) }

    /// Returns the failure after libcurl has reported completion; nil if a reply has arrived.
    ///
    /// - Parameter hasNeighbour: true if the set has an established connection, for which this transfer may have
    ///   waited.
    func failure(_ code: CURLcode, hasNeighbour: Bool) -> TransferFailure? {
        guard code != CURLE_OK else { return nil }
        let text = unsafe errorText.pointee == 0 ? String(cString: curl_easy_strerror(code)) : recordedError
        let systemError = Int32(truncatingIfNeeded: number(CURLINFO_OS_ERRNO))
        let failure = TransferFailure(
            code, systemError: systemError, text: text, overTLS: endpoint.scheme == .https,
            isConnected: hasNeighbour || localPort > 0)
        return endpoint.proxy == nil ? failure : seenThroughProxy(failure, code, text)
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

    private var recordedError: String { TransferFailure.shortened(unsafe String(cString: errorText)) }

    private func number(_ field: CURLINFO) -> Int {
        var value = 0
        _ = unsafe ccurl_get_long(raw, field, &value)
        return value
    }

    /// Returns the time since the start; zero if the phase did not occur.
    private func time(_ field: CURLINFO) -> Duration {
        var microseconds: curl_off_t = 0
        _ = unsafe ccurl_get_off(raw, field, &microseconds)
        return .microseconds(microseconds)
    }
}
