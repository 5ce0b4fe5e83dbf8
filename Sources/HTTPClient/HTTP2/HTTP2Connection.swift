// One HTTP/2 connection over TLS: its socket, its handshake, and the streams on it.
//
//     connecting --TCP--> handshaking --TLS, "h2"--> open --> ended
//          `-------------------`-------------------------------^

import Crypto
import DNSWire
import LinuxIO

final class HTTP2Connection {
    enum Phase: Equatable {
        case connecting, handshaking, open
        /// The connection is closed; each transfer that is still here ends with this failure.
        case ended(TransferFailure)
        /// The server chose another protocol; the connection is closed.
        case speaksHTTP1
    }

    /// When the request that opened the connection started, and its `connectTimeout` later.
    let dialDeadline: Instant
    private(set) var phase = Phase.connecting
    /// When the phases `connecting` and `handshaking` ended; nil until then.
    private(set) var connectedAt: Instant?
    private(set) var openedAt: Instant?
    let descriptor: Int32
    private(set) var localPort = 0
    /// Transfers whose stream has not ended.
    private(set) var transfers: [Transfer] = []

    private let endpoint: HTTPEndpoint
    private let client: TLSClient
    private let interest: InterestHandler
    /// The socket; nil: closed.
    private var socket: StreamSocket?
    private let session: HTTP2Session
    /// The TLS connection; nil until TCP is connected.
    private var tls: TLSConnection?
    /// Encrypted bytes that the socket has not taken.
    private var unsent: [UInt8] = []
    private var wants = SocketInterest.none
    /// The session that the handshake offers to resume.
    private var offeredSession: KeptSession?
    private var hasKeptSession = false

    /// Maximum number of reads per call: a server that sends without end must not delay the other connections.
    private static let maxReads = 8

    /// - Throws: a failure of the connect call itself.
    init(
        to endpoint: HTTPEndpoint, _ client: TLSClient, connectTimeout: Duration, now: Instant,
        interest: @escaping InterestHandler
    ) throws(TransferFailure) {
        guard let address = Address(endpoint.address) else { throw .badRequest }
        session = try HTTP2Session(maxStreams: client.maxStreams)
        do throws(SystemError) {
            let socket = try StreamSocket(connectingTo: SocketAddress(address, port: endpoint.port))
            try socket.endWhenSilent(
                milliseconds: Int32(SocketLedger.silenceMilliseconds), idleSeconds: Int32(endpoint.idleSeconds))
            descriptor = socket.descriptor.raw
            self.socket = socket
        } catch {
            throw TransferFailure(connecting: error.code)
        }
        (self.endpoint, self.client, self.interest) = (endpoint, client, interest)
        dialDeadline = now + connectTimeout
        watch(.write)
    }

    var isOpen: Bool {
        if case .open = phase { true } else { false }
    }

    private var isHandshaking: Bool {
        if case .handshaking = phase { true } else { false }
    }

    /// True if the connection takes another request.
    var isUsable: Bool {
        switch phase {
        case .connecting, .handshaking: true
        case .open: !session.isDraining
        case .ended, .speaksHTTP1: false
        }
    }

    var hasFreeStream: Bool { session.openStreams < min(session.maxStreams, ParallelRequests.maxStreams) }

    var isEstablished: Bool { connectedAt != nil }

    /// The progress of the connection; nil until TCP is connected.
    var progress: ConnectionProgress? { socket == nil ? nil : ConnectionProgress(descriptor) }

    /// Queues a PING until `flush`, unless the server has sent nothing since the last one.
    func ping() { session.ping() }

    /// True if the connection has ended before the whole request was written to it. If the kernel took a part, the
    /// server may have processed the request, which is idempotent; it is repeated once.
    func hasNotCarried(_ transfer: Transfer) -> Bool {
        switch phase {
        case .ended(.tls): offeredSession != nil
        case .ended: openedAt != nil && transfer.sentAt == nil
        case .connecting, .handshaking, .open, .speaksHTTP1: false
        }
    }

    /// Queues a request until `flush`.
    func start(_ transfer: Transfer) throws(TransferFailure) {
        try session.start(transfer)
        transfer.index = transfers.count
        transfers.append(transfer)
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
        session.cancel(transfer)
    }

    /// Proceeds as far as possible without waiting.
    func proceed(now: Instant) {
        if phase == .connecting { connect(now: now) }
        if isHandshaking || isOpen { receive(now: now) }
        if isHandshaking || isOpen, write(now: now) { flush(now: now) }
        session.endUnsent(of: transfers)
    }

    /// Writes the queued frames, unless earlier bytes wait for the socket.
    func flush(now: Instant) {
        guard isOpen, unsent.isEmpty else { return }
        var isFull = session.hasOutput
        while isFull {
            client.frames.removeAll(keepingCapacity: true)
            if session.appendOutput(to: &client.frames) != nil { return end(.reset) }
            guard !client.frames.isEmpty else { break }
            isFull = client.frames.count >= TLSClient.recordBytes
            if tls?.send(client.frames) != nil { return end(.reset) }
            guard write(now: now) else { return }
        }
        noteSent()
        if session.hasEnded { end(.reset) }
    }

    /// Passes the streams that have ended.
    func takeEnded(_ take: (consuming HTTP2Session.Ended) -> Void) {
        session.takeEnded { stream in
            remove(stream.transfer)
            if !hasKeptSession, stream.end == .complete { keepSession() }
            take(stream)
        }
    }

    private func keepSession() {
        hasKeptSession = true
        guard let tls, let openedAt else { return }
        let verifiedAt = tls.isResumed ? offeredSession?.verifiedAt : nil
        client.keepSession(of: tls, verifiedAt: verifiedAt ?? openedAt)
    }

    /// Closes the connection. Its transfers stay with it, for the caller to end or to move.
    func end(_ failure: TransferFailure) { close(.ended(failure)) }

    private func close(_ phase: Phase) {
        switch self.phase {
        case .ended, .speaksHTTP1: return
        case .connecting, .handshaking, .open: break
        }
        self.phase = phase
        watch(.none)
        socket = nil
    }

    private func watch(_ wants: SocketInterest) {
        guard wants != self.wants else { return }
        self.wants = wants
        interest(descriptor, wants)
    }

    // MARK: phases

    private func connect(now: Instant) {
        guard let socket else { return }
        do throws(SystemError) {
            switch try socket.connectOutcome() {
            case .inProgress: return
            case .failed(let error): return end(TransferFailure(connecting: error.code))
            case .connected: break
            }
            localPort = Int(try socket.localAddress().port)
        } catch {
            return end(TransferFailure(connecting: error.code))
        }
        connectedAt = now
        phase = .handshaking
        do throws(CryptoError) {
            (tls, offeredSession) = try client.connection(to: endpoint, now: now)
        } catch {
            return end(.tls(error.text))
        }
        shakeHands(now: now)
    }

    private func shakeHands(now: Instant) {
        switch tls?.shakeHands() {
        case .none, .underWay?: break
        case .failed(let reason)?:
            // The write sends the alert.
            _ = write(now: now)
            failHandshake(TransferFailure.shortened(reason))
        case .done?:
            guard tls?.protocolName == TLSClient.http2 else { return close(.speaksHTTP1) }
            openedAt = now
            phase = .open
        }
    }

    private func receive(now: Instant) {
        for _ in 0..<HTTP2Connection.maxReads {
            guard let socket else { return }
            do throws(SystemError) {
                guard let count = try socket.read(over: &client.received) else { return }
                guard count > 0 else { return lost("the server closed the connection") }
                take(client.received, count)
                if phase == .handshaking { shakeHands(now: now) }
                if isOpen { read() }
                client.maxStreams = max(1, session.maxStreams)
                if count < client.received.count { return }
            } catch {
                return lost(error.description)
            }
        }
    }

    private func take(_ bytes: [UInt8], _ count: Int) { tls?.receive(bytes.span.extracting(..<count)) }

    private func read() {
        // `room` takes a whole record, so OpenSSL keeps no data of a record that was read.
        while isOpen, let tls {
            switch tls.read(over: &client.room) {
            case .needsMore: return
            case .bytes(let count): if session.receive(client.room[..<count]) != nil { return end(.reset) }
            case .closed, .failed: return end(.reset)
            }
            guard tls.hasUnread else { return }
        }
    }

    private func lost(_ reason: String) {
        if phase == .handshaking { failHandshake(reason) } else { end(.reset) }
    }

    private func failHandshake(_ reason: String) {
        if offeredSession != nil { client.failedToResume() }
        end(.tls(reason))
    }

    /// - Returns: false if the socket takes no more now, or is lost.
    private func write(now: Instant) -> Bool {
        if unsent.isEmpty { tls?.takeOutgoing(into: &unsent) }
        while !unsent.isEmpty {
            guard let socket else { return false }
            do throws(SystemError) {
                guard try socket.write(from: &unsent) != nil else {
                    watch(.both)
                    return false
                }
            } catch {
                unsent = []
                // Replies may have arrived before the connection broke.
                receive(now: now)
                lost(error.description)
                return false
            }
        }
        if phase != .connecting { watch(.read) }
        return true
    }

    private func noteSent() {
        guard session.hasSent else { return }
        let progress = progress
        session.takeSent { transfer in
            if let progress { transfer.noteSent(progress) }
        }
    }
}
