// One connection to an endpoint: its socket, and the protocols on it from the lowest to the highest.
//
//     connecting --TCP--> tunnelling --proxy--> handshaking --TLS--> open --> ended
//          `-------------------`---------------------`----------------^
//
// Without a proxy there is no tunnel, and without TLS no handshake. The handshake decides between HTTP/2 and HTTP/1.1.

import Crypto
import DNSWire
import LinuxIO

final class Connection {
    enum Phase {
        case connecting, tunnelling, handshaking, open
        /// The connection is closed; each transfer that is still here ends with this failure.
        case ended(TransferFailure)
    }

    enum Session {
        /// The handshake has not decided; the transfers wait for it.
        case undecided
        case http1(HTTP1Session)
        case http2(HTTP2Session)
    }

    /// When the request that opened the connection started, and its `connectTimeout` later.
    let dialDeadline: Instant
    private(set) var phase = Phase.connecting
    private(set) var session = Session.undecided
    /// What the requests see of the connection.
    let state = ConnectionState()
    let descriptor: Int32
    /// Transfers that have not ended.
    private(set) var transfers: [Transfer] = []
    /// The connection carries one request only.
    let isForOneRequest: Bool
    /// Since when an HTTP/1.1 connection waits for a request; nil: it does not.
    var idleSince: Instant?
    /// The connection is in its set's list of those to flush.
    var isQueued = false

    private let dialer: Dialer
    /// Requests started here, for a limit of the endpoint.
    private var startedCount = 0
    private var tunnel: ProxyTunnel?
    /// The handshake; nil until it begins, and without TLS.
    private var tls: Dialer.Handshake?
    private let mayResume: Bool
    /// Bytes for the socket that it has not taken.
    private var unsent: [UInt8] = []
    private var wants = SocketInterest.none
    private var hasKeptSession = false
    /// The socket has taken bytes since an HTTP/1.1 request began.
    private var hasWritten = false

    /// Maximum number of reads per call: a server that sends without end must not delay the other connections.
    private static let maxReads = 8

    /// - Parameter request: the first one.
    /// - Throws: a failure of the connect call itself.
    init(_ dialer: Dialer, for request: TransferRequest, now: Instant) throws(TransferFailure) {
        let (endpoint, proxy) = (dialer.endpoint, dialer.endpoint.proxy)
        guard let address = Address(endpoint.dialledAddress) else { throw .badRequest }
        do throws(SystemError) {
            let peer = SocketAddress(address, port: proxy?.port ?? endpoint.port)
            let socket = try StreamSocket(connectingTo: peer)
            try socket.endWhenSilent(
                milliseconds: Dialer.silenceMilliseconds, idleSeconds: Int32(endpoint.idleSeconds))
            descriptor = socket.descriptor.raw
            state.socket = socket
        } catch {
            throw TransferFailure(connecting: error.code, to: endpoint)
        }
        self.dialer = dialer
        dialDeadline = now + request.connectTimeout
        (isForOneRequest, mayResume) = (request.needsOwnConnection, !request.wantsCertificate)
        watch(.write)
    }

    var isOpen: Bool { state.isOpen }

    /// True after the choice of HTTP/1.1.
    var speaksHTTP1: Bool {
        if case .http1 = session { true } else { false }
    }

    private var isConnecting: Bool {
        if case .connecting = phase { true } else { false }
    }

    private var isHandshaking: Bool {
        if case .handshaking = phase { true } else { false }
    }

    private var hasEnded: Bool {
        if case .ended = phase { true } else { false }
    }

    /// True if the connection takes further requests, besides those that it carries.
    var isShared: Bool {
        guard !isForOneRequest, startedCount < dialer.endpoint.maxRequestsPerConnection ?? .max else { return false }
        switch session {
        case .undecided: return !hasEnded
        case .http1: return false
        case .http2(let session): return isOpen && !session.isDraining
        }
    }

    var hasFreeStream: Bool {
        let (open, most) =
            if case .http2(let session) = session {
                (session.openStreams, session.maxStreams)
            } else {
                (transfers.count, dialer.maxStreams)
            }
        return open < min(most, ParallelRequests.maxStreams)
    }

    /// True if an HTTP/1.1 connection can carry its next request.
    var isFree: Bool {
        guard case .http1(let session) = session, isOpen, transfers.isEmpty, !isForOneRequest else { return false }
        return session.isReusable && startedCount < dialer.endpoint.maxRequestsPerConnection ?? .max
    }

    var isEstablished: Bool { state.connectedAt != nil }

    /// Queues a PING until `flush`, unless the server has sent nothing since the last one.
    func ping() {
        if case .http2(let session) = session { session.ping() }
    }

    /// True if the connection has ended and the set repeats the request: HTTP/2 has not written the whole of it, or a
    /// reused HTTP/1.1 connection brought no byte of its reply. The server may have processed it, but it is idempotent.
    func hasNotCarried(_ transfer: Transfer) -> Bool {
        switch phase {
        case .ended(.tls): tls?.offered != nil
        case .ended: state.openedAt != nil && (transfer.sentAt == nil || speaksHTTP1 && transfer.isExposed)
        case .connecting, .tunnelling, .handshaking, .open: false
        }
    }

    /// Queues a request until `flush`.
    func start(_ transfer: Transfer) throws(TransferFailure) {
        try begin(transfer)
        startedCount += 1
        transfer.connection = state
        transfer.index = transfers.count
        transfers.append(transfer)
    }

    private func begin(_ transfer: Transfer) throws(TransferFailure) {
        switch session {
        case .undecided: break
        case .http1(let session):
            session.start(transfer)
            (idleSince, hasWritten) = (nil, false)
        case .http2(let session): try session.start(transfer)
        }
    }

    private func remove(_ transfer: Transfer) {
        let last = transfers.removeLast()
        guard last !== transfer else { return }
        last.index = transfer.index
        transfers[last.index] = last
    }

    /// Cancels a transfer. Ignores a transfer that is not on this connection.
    func cancel(_ transfer: Transfer) {
        guard transfer.index < transfers.count, transfers[transfer.index] === transfer else { return }
        remove(transfer)
        switch session {
        case .undecided: break
        case .http1(let session): if !session.cancel() { end(.reset) }
        case .http2(let session): session.cancel(transfer)
        }
    }

    /// Removes the transfers for which an HTTP/1.1 connection has no place, in their order.
    func takeSurplus() -> [Transfer] {
        guard speaksHTTP1, transfers.count > 1 else { return [] }
        defer { transfers.removeLast(transfers.count - 1) }
        startedCount = 1
        return Array(transfers.dropFirst())
    }

    /// Proceeds as far as possible without waiting.
    func proceed(now: Instant) {
        // Most servers have nothing to say before they have got something; the next turn reads what others say.
        if isConnecting { connect(now: now) } else { receive(now: now) }
        guard !isConnecting else { return }
        if !hasEnded { _ = write(now: now) }
        if isOpen { sendOutput(now: now) }
        if case .http2(let session) = session { session.endUnsent(of: transfers) }
    }

    /// Writes the queued requests, unless earlier bytes wait for the socket.
    func flush(now: Instant) {
        guard isOpen, unsent.isEmpty else { return }
        // A reply, or the end of the connection, that arrived before the request does not belong to it.
        if case .http1(let session) = session, session.mustBeSilent { receive(now: now) }
        if isOpen { sendOutput(now: now) }
    }

    private func sendOutput(now: Instant) {
        if isOpen, unsent.isEmpty { writeOutput(now: now) }
        noteSent()
        if case .http2(let session) = session, isOpen, unsent.isEmpty, session.hasEnded { end(.reset) }
    }

    private func writeOutput(now: Instant) {
        var isFull = hasOutput
        while isFull {
            dialer.frames.removeAll(keepingCapacity: true)
            guard appendOutput() else { return end(.reset) }
            guard !dialer.frames.isEmpty else { break }
            isFull = dialer.frames.count >= Dialer.recordBytes
            guard encrypt() else { return end(.reset) }
            guard write(now: now) else { return }
        }
    }

    /// Moves the session's bytes to those for the socket.
    ///
    /// - Returns: false if TLS failed.
    private func encrypt() -> Bool {
        guard let tls else {
            // Both arrays keep their memory.
            swap(&unsent, &dialer.frames)
            return true
        }
        return tls.connection.send(dialer.frames) == nil
    }

    private var hasOutput: Bool {
        switch session {
        case .undecided: false
        case .http1(let session): session.hasOutput
        case .http2(let session): session.hasOutput
        }
    }

    /// - Returns: false if the session failed.
    private func appendOutput() -> Bool {
        switch session {
        case .undecided: return true
        case .http1(let session):
            session.appendOutput(to: &dialer.frames, &dialer.head)
            return true
        case .http2(let session): return session.appendOutput(to: &dialer.frames) == nil
        }
    }

    /// Passes the requests that have ended.
    func takeEnded(_ take: (Transfer, TransferEnd) -> Void) {
        switch session {
        case .undecided: break
        case .http1(let session):
            session.takeEnd { (transfer, end) in
                ended(transfer, end)
                if !session.isReusable || !unsent.isEmpty { self.end(.reset) }
                take(transfer, end)
            }
        case .http2(let session):
            session.takeEnded { stream in
                ended(stream.transfer, stream.end)
                take(stream.transfer, stream.end)
            }
        }
    }

    private func ended(_ transfer: Transfer, _ end: TransferEnd) {
        remove(transfer)
        if !hasKeptSession, end == .complete { keepSession() }
    }

    private func keepSession() {
        hasKeptSession = true
        guard let tls, let openedAt = state.openedAt else { return }
        let verifiedAt = tls.connection.isResumed ? tls.offered?.verifiedAt : nil
        dialer.keepSession(of: tls.connection, verifiedAt: verifiedAt ?? openedAt)
    }

    /// Closes the connection. Its transfers stay with it, for the caller to end or to move.
    func end(_ failure: TransferFailure) {
        guard !hasEnded else { return }
        phase = .ended(failure)
        state.isOpen = false
        watch(.none)
        state.socket = nil
    }

    private func watch(_ wants: SocketInterest) {
        guard wants != self.wants else { return }
        self.wants = wants
        dialer.interest(descriptor, wants)
    }

    // MARK: phases

    private func connect(now: Instant) {
        guard let socket = state.socket else { return }
        let endpoint = dialer.endpoint
        do throws(SystemError) {
            switch try socket.connectOutcome() {
            case .inProgress: return
            case .failed(let error): return end(TransferFailure(connecting: error.code, to: endpoint))
            case .connected: break
            }
            state.localPort = Int(try socket.localAddress().port)
        } catch {
            return end(TransferFailure(connecting: error.code, to: endpoint))
        }
        state.connectedAt = now
        guard let proxy = endpoint.proxy else { return secure(now: now) }
        guard let address = Address(endpoint.address) else { return end(.badRequest) }
        phase = .tunnelling
        var tunnel = ProxyTunnel(to: SocketAddress(address, port: endpoint.port), through: proxy)
        unsent += tunnel.takeOutput()
        self.tunnel = tunnel
    }

    /// Begins the handshake, or opens the connection if there is none.
    private func secure(now: Instant) {
        do throws(CryptoError) {
            tls = try dialer.handshake(mayResume: mayResume, now: now)
        } catch {
            return end(.tls(error.text))
        }
        guard tls != nil else { return open(now: now) }
        (phase, state.isSecure) = (.handshaking, true)
        shakeHands(now: now)
    }

    private func shakeHands(now: Instant) {
        switch tls?.connection.shakeHands() {
        case .none, .underWay?: break
        case .failed(let reason)?:
            // The write sends the alert.
            _ = write(now: now)
            failHandshake(TransferFailure.shortened(reason))
        case .done?: open(now: now)
        }
    }

    private func open(now: Instant) {
        let isHTTP2 = tls?.choseHTTP2 ?? false
        do throws(TransferFailure) {
            session = isHTTP2 ? .http2(try HTTP2Session(maxStreams: dialer.maxStreams)) : .http1(HTTP1Session())
            for transfer in isHTTP2 ? transfers : Array(transfers.prefix(1)) { try begin(transfer) }
        } catch {
            return end(error)
        }
        state.httpVersion = isHTTP2 ? .http2 : .http1
        if !mayResume { state.certificate = tls?.connection.peerCertificate }
        state.keyExchange = tls?.connection.keyExchange
        (phase, state.openedAt, state.isOpen) = (.open, now, true)
        // The request precedes whatever the server says on its own.
        if !isHTTP2 { sendOutput(now: now) }
    }

    private func lost(_ reason: String) {
        switch phase {
        case .tunnelling: end(.proxy(reason))
        case .handshaking: failHandshake(reason)
        case .connecting, .open, .ended: end(.reset)
        }
    }

    private func failHandshake(_ reason: String) {
        if tls?.offered != nil { dialer.failedToResume() }
        end(.tls(reason))
    }

    // MARK: bytes

    private func receive(now: Instant) {
        for _ in 0..<Connection.maxReads {
            guard let socket = state.socket else { return }
            do throws(SystemError) {
                guard let count = try socket.read(over: &dialer.received) else { return }
                guard count > 0 else { return receiveEnd() }
                take(dialer.received, count, now: now)
                if count < dialer.received.count { return }
            } catch {
                return lost(error.description)
            }
        }
    }

    private func receiveEnd() {
        // Over TLS, only the server's close_notify proves that the reply is whole.
        if isOpen, tls == nil, case .http1(let session) = session { session.receiveEnd() }
        lost(isHandshaking ? "the server closed the connection" : "the proxy closed the connection")
    }

    private func take(_ bytes: [UInt8], _ count: Int, now: Instant) {
        var start = 0
        let bytes = bytes.span.extracting(..<count)
        if tunnel != nil { advanceTunnel(bytes, from: &start, now: now) }
        guard start < count else { return }
        guard let tls else { return receive(bytes.extracting(start...)) }
        tls.connection.receive(bytes.extracting(start...))
        if isHandshaking { shakeHands(now: now) }
        if isOpen { read(tls.connection) }
        if case .http2(let session) = session { dialer.maxStreams = max(1, session.maxStreams) }
    }

    private func advanceTunnel(_ bytes: Span<UInt8>, from start: inout Int, now: Instant) {
        switch tunnel?.receive(bytes, from: &start) {
        case nil, .underWay?: unsent += tunnel?.takeOutput() ?? []
        case .failed(let reason)?: end(.proxy(TransferFailure.shortened(reason)))
        case .established?:
            tunnel = nil
            secure(now: now)
        }
    }

    /// Passes bytes of a server without TLS.
    private func receive(_ bytes: Span<UInt8>) {
        guard isOpen, case .http1(let session) = session else { return }
        session.receive(bytes)
        if session.mustBeSilent { end(.reset) }
    }

    private func read(_ tls: TLSConnection) {
        // `room` takes a whole record, so OpenSSL keeps no data of a record that was read.
        while isOpen {
            switch tls.read(over: &dialer.room) {
            case .needsMore: return
            case .bytes(let count): receive(dialer.room, count)
            case .closed:
                if case .http1(let session) = session { session.receiveEnd() }
                return end(.reset)
            case .failed: return end(.reset)
            }
            guard tls.hasUnread else { return }
        }
    }

    private func receive(_ plain: [UInt8], _ count: Int) {
        switch session {
        case .undecided: break
        case .http1: receive(plain.span.extracting(..<count))
        case .http2(let session): if session.receive(plain[..<count]) != nil { end(.reset) }
        }
    }

    /// - Returns: false if the socket takes no more now, or is lost.
    private func write(now: Instant) -> Bool {
        if unsent.isEmpty { tls?.connection.takeOutgoing(into: &unsent) }
        while !unsent.isEmpty {
            guard let socket = state.socket else { return false }
            do throws(SystemError) {
                guard try socket.write(from: &unsent) != nil else {
                    watch(.both)
                    return false
                }
                hasWritten = true
            } catch {
                unsent = []
                // Replies may have arrived before the connection broke.
                receive(now: now)
                lost(error.description)
                return false
            }
        }
        if !isConnecting { watch(.read) }
        return true
    }

    /// Records the progress of requests that were written: HTTP/2 when they are whole, HTTP/1.1 after each part.
    private func noteSent() {
        switch session {
        case .undecided: break
        case .http1(let session):
            guard hasWritten, let transfer = session.transfer, !transfer.isWhollySent else { return }
            if let progress = state.progress {
                transfer.noteSent(progress, isWhole: unsent.isEmpty && !session.hasOutput)
            }
        case .http2(let session):
            guard unsent.isEmpty, session.hasSent else { return }
            let progress = state.progress
            session.takeSent { transfer in
                if let progress { transfer.noteSent(progress, isWhole: true) }
            }
        }
    }
}
