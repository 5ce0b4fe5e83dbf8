// One probe connection: connects, performs the TLS handshake unless only the connection is wanted, optionally sends one
// request, and yields a verdict. It touches only its socket; the owner supplies the time and closes it once a result
// exists.
//
//     connecting --connected--> handshaking --verified, if asked to--> asking
//          `-------------------------`------------------------------------`----> an end

import Crypto
import DNSWire
import LinuxIO
import Resolver

final class ProbeConnection {
    /// Terms that all probes share until the settings change.
    struct Terms {
        let context: TLSContext
        /// Limit for the whole probe, from the SYN to the result.
        let timeout: Duration
        let sendsRequest: Bool
    }

    /// Current readings of both clocks.
    struct Reading {
        let now: Instant
        let wallSeconds: Int64
        let isDoubtful: Bool
    }

    private enum Phase {
        case connecting, handshaking
        case asking(ProbeRequest)
    }

    let startedAt: Instant
    let deadline: Instant

    private let terms: Terms
    private let name: String
    private let port: UInt16
    private let method: ProbeMethod
    private let socket: StreamSocket
    private let registration: EventLoop.Registration
    private var phase = Phase.connecting
    /// The handshake, begun once connected: a refused connection does not cost the keys of a ClientHello.
    private var handshake: TLSHandshake?
    private var unsent: [UInt8] = []
    private var hasHeard = false
    private var connectedAt: Instant?
    private var handshakeTime: Duration?
    private var certificate: SeenCertificate?

    /// Bytes per read. A server's whole flight is 2 to 8 KiB.
    private static let readBytes = 16 * 1024
    /// Reads per turn of the loop: a peer that sends without end must not delay the others.
    private static let maxReads = 4
    /// If a result is noticed this much after the deadline, the loop was delayed or the machine slept. The elapsed
    /// time then says nothing about the peer.
    private static let maxLateness: Duration = .seconds(1)

    init(
        _ socket: StreamSocket, _ registration: EventLoop.Registration, name: String, port: UInt16,
        by method: ProbeMethod, _ terms: Terms, now: Instant
    ) {
        self.socket = socket
        self.registration = registration
        self.name = name
        self.port = port
        self.method = method
        self.terms = terms
        startedAt = now
        deadline = now + terms.timeout
    }

    func close(_ loop: EventLoop) {
        loop.unwatch(registration)
    }

    /// Proceeds as far as possible without waiting.
    ///
    /// - Returns: the result; nil while there is none.
    func proceed(_ loop: EventLoop, _ reading: Reading) -> ProbeResult? {
        do throws(SystemError) {
            if case .connecting = phase, let end = try connect(reading) { return completed(end) }
            guard connectedAt != nil else { return nil }
            // Read before sending, so that the last bytes of a peer that has reset the connection are not lost.
            if let end = try receive(reading) {
                // Completes the handshake, so that the server logs no failure.
                try? send()
                return completed(end)
            }
            try send()
            try loop.change(registration, to: unsent.isEmpty ? .readable : [.readable, .writable])
            return nil
        } catch {
            return completed(error.isReset ? closed() : ProbeResult(.unprobed, detail: error.description))
        }
    }

    /// Returns the result when the deadline has passed. Data that is already received counts: it may have been on
    /// time, and the daemon late.
    func timedOut(_ loop: EventLoop, _ reading: Reading) -> ProbeResult {
        if let end = proceed(loop, reading) { return end }
        guard reading.now <= deadline + ProbeConnection.maxLateness else {
            return completed(ProbeResult(.unprobed, detail: "this machine was too busy"))
        }
        switch phase {
        case .connecting: return completed(ProbeResult(.timeout))
        case .handshaking:
            let detail = hasHeard ? "the handshake timed out" : "no answer to the ClientHello"
            return completed(ProbeResult(.tlsTimeout, detail: detail))
        case .asking: return completed(ProbeResult(.tlsTimeout, detail: "no answer to HEAD"))
        }
    }

    // MARK: from one phase to the next

    private func connect(_ reading: Reading) throws(SystemError) -> ProbeResult? {
        switch try socket.connectOutcome() {
        case .inProgress: return nil
        // A reset during connect is reported as refused. This connection was made, so there may be bytes to read.
        case .failed(let error) where error.isReset: break
        case .failed(let error): return ProbeResult(notConnected: error, isAtOnce: false)
        case .connected: break
        }
        connectedAt = reading.now
        guard method == .handshake else { return ProbeResult(.connected) }
        do throws(CryptoError) {
            var handshake = try TLSHandshake(terms.context, name: name, nowSeconds: reading.wallSeconds)
            unsent = handshake.takeOutgoing()
            self.handshake = consume handshake
        } catch {
            return ProbeResult(.unprobed, detail: error.text)
        }
        phase = .handshaking
        return nil
    }

    private func receive(_ reading: Reading) throws(SystemError) -> ProbeResult? {
        for _ in 0..<ProbeConnection.maxReads {
            switch try socket.read(maxBytes: ProbeConnection.readBytes) {
            case .bytes(let bytes):
                hasHeard = true
                if let end = heard(bytes, reading) { return end }
            case .wouldBlock: return nil
            case .ended: return closed()
            }
        }
        return nil
    }

    private func heard(_ bytes: [UInt8], _ reading: Reading) -> ProbeResult? {
        var bytes = bytes
        while let progress = handshake?.receive(bytes.span) {
            takeOutgoing()
            switch progress {
            case .underWay: return nil
            case .done(let peer): if let end = handshakeDone(peer, reading) { return end }
            case .data(let plain): if let end = answered(plain) { return end }
            case .closed: return closed()
            case .failed(let failure): return ProbeResult(failed: failure)
            }
            // The handshake may hold more data that it has read already.
            bytes = []
        }
        return nil
    }

    private func handshakeDone(_ peer: TLSPeer, _ reading: Reading) -> ProbeResult? {
        handshakeTime = connectedAt.map { reading.now - $0 }
        certificate = SeenCertificate(peer.certificate)
        let result = ProbeResult(peer, isClockDoubtful: reading.isDoubtful, nowSeconds: reading.wallSeconds)
        // A peer that is not verified does not learn which request the daemon sends.
        guard terms.sendsRequest, result.verdict == .verified else { return result }
        let request = ProbeRequest(name: name, port: port)
        handshake?.send(request.bytes)
        takeOutgoing()
        phase = .asking(request)
        return nil
    }

    /// A server that does not speak HTTP/1 (mail, or HTTP/2 only) has shown the right certificate and has not
    /// rejected the name. The verdict is about nothing else.
    private func answered(_ bytes: [UInt8]) -> ProbeResult? {
        guard case .asking(var request) = phase else { return nil }
        let reply = request.receive(bytes)
        phase = .asking(request)
        switch reply {
        case .incomplete: return nil
        case .status(ProbeRequest.misdirected): return ProbeResult(.nameMismatch, detail: "421 Misdirected Request")
        case .status: return ProbeResult(.verified)
        case .other: return ProbeResult(.verified, detail: "the answer to HEAD is not HTTP/1")
        }
    }

    private func closed() -> ProbeResult {
        if case .asking = phase { return ProbeResult(.tlsReset, detail: "closed after HEAD") }
        return ProbeResult(.tlsReset, detail: hasHeard ? "closed during the handshake" : "")
    }

    private func takeOutgoing() {
        if let outgoing = handshake?.takeOutgoing() { unsent += outgoing }
    }

    private func send() throws(SystemError) {
        while !unsent.isEmpty {
            do throws(SystemError) {
                guard try socket.write(from: &unsent) != nil else { return }
            } catch {
                guard error.isReset else { throw error }
                // An alert may precede the end; the loop reports both.
                unsent = []
            }
        }
    }

    /// Adds the measurements that were taken on the way.
    private func completed(_ end: ProbeResult) -> ProbeResult {
        var end = end
        end.connectTime = connectedAt.map { $0 - startedAt }
        end.handshakeTime = handshakeTime
        end.certificate = certificate
        return end
    }
}
