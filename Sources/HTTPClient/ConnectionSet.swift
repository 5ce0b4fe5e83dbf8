// Connections to one endpoint and the transfers on them. HTTP/2 over TLS has a client of its own; libcurl carries
// HTTP/1.1, requests through a proxy, and requests with a connection of their own.

import DNSWire

final class ConnectionSet {
    /// Identifies the set in its pool.
    let number: Int
    /// All transfers started here; an upper bound for the requests on any connection of the set.
    private(set) var startedCount = 0
    /// The HTTP/2 connections; nil: the endpoint needs libcurl.
    private let http2: HTTP2Connections?
    /// The libcurl connections; nil until a transfer needs them.
    private var curl: CurlConnections?
    private let interest: InterestHandler
    /// True if the server did not choose HTTP/2.
    private(set) var speaksHTTP1: Bool
    private let ended: EndedTransfers

    /// - Parameters:
    ///   - client: the TLS client; nil if no request may use HTTP/2.
    ///   - ended: receives the transfers that end.
    init(
        to endpoint: HTTPEndpoint, _ client: TLSClient?, number: Int, _ ended: EndedTransfers,
        interest: @escaping InterestHandler
    ) {
        (self.number, self.ended, self.interest) = (number, ended, interest)
        http2 = client.map { HTTP2Connections(to: endpoint, $0, ended, interest: interest) }
        speaksHTTP1 = client == nil
    }

    private var kinds: [any Connections] {
        var kinds: [any Connections] = []
        if let http2 { kinds.append(http2) }
        if let curl { kinds.append(curl) }
        return kinds
    }

    var isIdle: Bool { (http2?.isIdle ?? true) && (curl?.isIdle ?? true) }

    var openSockets: Int { kinds.reduce(0) { $0 + $1.openSockets } }
    var openedSockets: Int { kinds.reduce(0) { $0 + $1.openedSockets } }

    /// When `timePassed` is due.
    var dueAt: Instant? { Instant.earliest(http2?.dueAt, curl?.dueAt) }

    /// Returns the progress of the connection from this local port; nil if there is none.
    func progress(from port: Int) -> ConnectionProgress? { kinds.lazy.compactMap { $0.progress(from: port) }.first }

    /// Returns true if the peer's kernel has acknowledged the transfer's request, or the handshake if no request was
    /// sent.
    func isAcknowledged(_ transfer: Transfer) -> Bool {
        // The transfer waits for a connection of another transfer.
        guard let progress = progress(from: transfer.localPort) else {
            return kinds.contains { $0.progresses.contains(where: \.isAcknowledged) }
        }
        guard let sentAt = transfer.sentAt else { return progress.isAcknowledged }
        return progress.acknowledged >= sentAt.sent
    }

    /// True if the peer's kernel has accepted a connection of the set.
    var hasConnected: Bool { kinds.contains { $0.progresses.contains(where: \.isEstablished) } }

    /// Records the connection's progress; called after each sent part of the request.
    func noteSending(of transfer: Transfer) { transfer.noteSending(progress(from: transfer.localPort)) }

    /// Sends a PING on the transfer's connection, if HTTP/2 carries it.
    func ping(_ transfer: Transfer, now: Instant) {
        http2?.ping(transfer, now: now)
        moveToLibcurl(now: now)
    }

    func isWatching(_ descriptor: Int32) -> Bool {
        http2?.isWatching(descriptor) ?? false || curl?.isWatching(descriptor) ?? false
    }

    func start(
        _ request: TransferRequest, id: TransferID, retryAfter waited: Duration?, now: Instant
    ) throws(TransferFailure) -> Transfer {
        let transfer = try Transfer(id: id, request: request, retryAfter: waited, now: now)
        transfer.setNumber = number
        if let http2, !speaksHTTP1, !request.needsOwnConnection, !request.wantsCertificate {
            do throws(TransferFailure) {
                try http2.start(transfer, now: now)
            } catch {
                ended.add(transfer, .failure(error))
            }
        } else {
            try startOverLibcurl(transfer, now: now)
        }
        startedCount += 1
        return transfer
    }

    private func startOverLibcurl(_ transfer: Transfer, now: Instant) throws(TransferFailure) {
        let curl = if let curl { curl } else { try CurlConnections(ended, interest: interest) }
        self.curl = curl
        try curl.start(transfer, now: now)
    }

    /// Cancels a transfer. Ignores a transfer that is not in the set.
    func cancel(_ transfer: Transfer, now: Instant) {
        for kind in kinds { kind.cancel(transfer, now: now) }
    }

    /// True if `flush` has something to send.
    var hasQueued: Bool { http2?.hasQueued ?? false }

    /// Sends the requests that were started since the last call.
    func flush(now: Instant) {
        http2?.flush(now: now)
        moveToLibcurl(now: now)
    }

    func socketReady(_ descriptor: Int32, readable: Bool, writable: Bool, failed: Bool, now: Instant) {
        if let http2, http2.isWatching(descriptor) {
            http2.socketReady(descriptor, readable: readable, writable: writable, failed: failed, now: now)
        } else {
            curl?.socketReady(descriptor, readable: readable, writable: writable, failed: failed, now: now)
        }
        moveToLibcurl(now: now)
    }

    func timePassed(now: Instant) {
        http2?.timePassed(now: now)
        curl?.timePassed(now: now)
        moveToLibcurl(now: now)
    }

    /// Ends every transfer without a result and closes every connection. The set cannot be used afterwards.
    func close() { for kind in kinds { kind.close() } }

    /// Moves the transfers of a server that does not speak HTTP/2 to libcurl.
    private func moveToLibcurl(now: Instant) {
        guard let refused = http2?.takeRefused(), !refused.isEmpty else { return }
        speaksHTTP1 = true
        for transfer in refused {
            transfer.restart()
            do throws(TransferFailure) {
                try startOverLibcurl(transfer, now: now)
            } catch {
                ended.add(transfer, .failure(error))
            }
        }
    }
}
