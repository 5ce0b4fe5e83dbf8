// The requests of one HTTP/1.1 connection (RFC 9112), one after the other: requests to bytes, and bytes to replies. No
// socket and no clock.

import DNSWire

final class HTTP1Session {
    /// The request in progress; nil: none.
    private(set) var transfer: Transfer?
    private var reader = HTTP1Reader()
    private var end: TransferEnd?
    private var headIsWritten = false
    /// True if an earlier request had a reply.
    private var isReused = false
    /// False if the connection has no use after this reply, or has received bytes that belong to no reply.
    private(set) var isReusable = true

    /// Takes the next request; only without a request in progress.
    func start(_ transfer: Transfer) {
        precondition(self.transfer == nil, "one request at a time")
        (self.transfer, headIsWritten, end) = (transfer, false, nil)
        reader = HTTP1Reader()
    }

    /// True if the connection was used before and has written nothing of the request yet.
    var mustBeSilent: Bool { transfer == nil || isReused && !headIsWritten }

    var hasOutput: Bool {
        guard let transfer, end == nil else { return false }
        return hasOutput(of: transfer)
    }

    private func hasOutput(of transfer: Transfer) -> Bool {
        !headIsWritten || transfer.hasBody && !transfer.isBodySent
    }

    /// Appends the next bytes to send; more than `Dialer.recordBytes` only by a long head.
    func appendOutput(to bytes: inout [UInt8], _ head: inout HTTP1Head) {
        guard let transfer, end == nil else { return }
        if !headIsWritten {
            head.append(transfer.request, to: &bytes)
            headIsWritten = true
        }
        guard transfer.hasBody, bytes.count < Dialer.recordBytes else { return }
        bytes += transfer.nextBodyBytes(atMost: Dialer.recordBytes - bytes.count)
    }

    /// Ends a request without a result.
    ///
    /// - Returns: true if nothing of it was written, so that the connection can carry another request.
    func cancel() -> Bool {
        defer { transfer = nil }
        return !headIsWritten && isReusable
    }

    /// Takes bytes of the server. Bytes without a request in progress make the connection useless.
    func receive(_ bytes: Span<UInt8>) {
        guard let transfer, end == nil, !mustBeSilent else { return isReusable = false }
        transfer.receivedBytes()
        var start = 0
        while end == nil {
            switch reader.next(in: bytes, from: &start) {
            case .needsMore: return
            case .status(let status): transfer.received(status: status)
            case .field(let field): take(field, of: bytes, for: transfer)
            case .endOfFields: transfer.receivedHeaderBlock()
            case .data(let range):
                if !transfer.received(body: bytes.extracting(range)) { end(.failed(.oversized)) }
            case .complete: end(.complete)
            case .failed(let failure): end(.failed(failure))
            }
        }
        if start < bytes.count { isReusable = false }
    }

    private func take(_ field: HTTP1Reader.Field, of bytes: Span<UInt8>, for transfer: Transfer) {
        guard field.isHeld else {
            return transfer.received(field: bytes.extracting(field.name), bytes.extracting(field.value))
        }
        let held = reader.held
        transfer.received(field: held.span.extracting(field.name), held.span.extracting(field.value))
    }

    private func end(_ end: TransferEnd) {
        self.end = end
        isReusable = isReusable && reader.keepsConnection
    }

    /// Processes the end of the connection.
    func receiveEnd() {
        isReusable = false
        if transfer != nil, end == nil, reader.receivedEnd() { end = .complete }
    }

    /// Passes the request that has ended, once.
    func takeEnd(_ take: (Transfer, TransferEnd) -> Void) {
        guard let transfer, let end else { return }
        // The server would read the rest of a request as the next one.
        if hasOutput(of: transfer) { isReusable = false }
        (self.transfer, self.end, isReused) = (nil, nil, true)
        take(transfer, end)
    }
}
