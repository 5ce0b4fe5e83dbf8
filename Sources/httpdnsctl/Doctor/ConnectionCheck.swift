// Checks one address of a provider: connects, and for https completes a TLS handshake and judges the certificate. It
// sends no request.

import Crypto
import DNSWire
import LinuxIO

final class ConnectionCheck: NetworkCheck {
    /// The parameters of the TLS handshake and of its verification.
    struct Terms {
        let context: TLSContext
        /// The name that is shown to the server (SNI).
        let name: String
        /// False: the settings name a different host for the certificate (`verify-name`).
        let checksName: Bool
        /// The wall clock in seconds since 1970.
        let now: Int64
    }

    let provider: String
    let place: SocketAddress
    let kind: String
    private let terms: Terms?
    private var socket: StreamSocket?
    private var registration: EventLoop.Registration?
    private var handshake: TLSHandshake?
    private var unsent: [UInt8] = []
    private var isConnected = false
    private(set) var outcome: ProviderCheck.Outcome?
    /// Validity dates of the certificate, if it is trusted and has the provider's name.
    private(set) var dates: ClockCheck.Dates?

    private static let readBytes = 16 * 1024
    private static let maxShownNames = 3

    /// - Parameter terms: nil: only connect.
    init(provider: String, place: SocketAddress, kind: String, _ terms: Terms?) {
        self.provider = provider
        self.place = place
        self.kind = kind
        self.terms = terms
    }

    var what: LocalizedText { "provider \(provider) at \(place)" }
    var isOver: Bool { outcome != nil }

    func begin(_ loop: EventLoop) {
        do throws(SystemError) {
            let stream = try StreamSocket(connectingTo: place)
            socket = stream
            registration = try loop.watch(stream.descriptor.raw, for: .writable) { [unowned self] _ in
                self.proceed(loop)
            }
        } catch {
            let isWayless = error.isUnreachable || error.isAddressUnavailable
            finish(isWayless ? .noRoute : ConnectionCheck.outcome(of: error), loop)
        }
    }

    func repeatQuestion() {}

    func end(_ loop: EventLoop) { finish(.silent(isConnected: isConnected), loop) }

    private func proceed(_ loop: EventLoop) {
        do throws(SystemError) {
            guard let socket, try hasConnected(socket, loop) else { return }
            try receive(socket, loop)
            guard outcome == nil else { return }
            try send(socket)
            if let registration {
                try loop.change(registration, to: unsent.isEmpty ? .readable : [.readable, .writable])
            }
        } catch {
            finish(ConnectionCheck.outcome(of: error), loop)
        }
    }

    /// Returns true if the handshake can go on. False: the connection is not established yet, or the check is complete.
    private func hasConnected(_ socket: StreamSocket, _ loop: EventLoop) throws(SystemError) -> Bool {
        guard !isConnected else { return true }
        switch try socket.connectOutcome() {
        case .inProgress: return false
        case .failed(let error): throw error
        case .connected: isConnected = true
        }
        guard let terms else {
            finish(.fine, loop)
            return false
        }
        do throws(CryptoError) {
            var handshake = try TLSHandshake(terms.context, name: terms.name, nowSeconds: terms.now)
            unsent = handshake.takeOutgoing()
            self.handshake = consume handshake
            return true
        } catch {
            finish(.failed(LocalizedText(verbatim: error.text)), loop)
            return false
        }
    }

    private func receive(_ socket: StreamSocket, _ loop: EventLoop) throws(SystemError) {
        while outcome == nil {
            switch try socket.read(maxBytes: ConnectionCheck.readBytes) {
            case .wouldBlock: return
            case .ended: return finish(.failed("the handshake was cut short"), loop)
            case .bytes(let bytes): heard(bytes, loop)
            }
        }
    }

    private func heard(_ bytes: [UInt8], _ loop: EventLoop) {
        guard let progress = handshake?.receive(bytes.span) else { return }
        unsent += handshake?.takeOutgoing() ?? []
        switch progress {
        case .underWay, .data: return
        case .closed: finish(.failed("the handshake was cut short"), loop)
        case .failed(.alert(let reason)): finish(.failed("no handshake: \(reason)"), loop)
        case .failed(.notTLS): finish(.failed("the peer does not speak TLS"), loop)
        case .done(let peer):
            // Sends the end of the handshake, so that the server does not log a failure.
            if let socket { try? send(socket) }
            finish(judgement(peer), loop)
        }
    }

    private func judgement(_ peer: TLSPeer) -> ProviderCheck.Outcome {
        let certificate = peer.certificate
        if case .untrusted(let reason) = peer.trust { return .untrusted(reason, issuer: certificate.issuer) }
        if terms?.checksName == true, !peer.matchesName {
            return .wrongName(certificate.names.prefix(ConnectionCheck.maxShownNames).joined(separator: ", "))
        }
        let dates = ClockCheck.Dates(
            notBefore: certificate.notBefore, notAfter: certificate.notAfter, isValidNow: peer.isValidNow)
        self.dates = dates
        return peer.isValidNow ? .fine : .notValidNow(dates)
    }

    private func send(_ socket: StreamSocket) throws(SystemError) {
        while !unsent.isEmpty {
            let bytes = unsent
            guard let count = try socket.write(bytes.span) else { return }
            unsent.removeFirst(count)
        }
    }

    private func finish(_ outcome: ProviderCheck.Outcome, _ loop: EventLoop) {
        if let registration { loop.unwatch(registration) }
        registration = nil
        socket = nil
        handshake = nil
        self.outcome = outcome
    }

    private static func outcome(of error: SystemError) -> ProviderCheck.Outcome {
        if error.isRefused { return .refused }
        return error.isTimeout ? .silent(isConnected: false) : .failed(LocalizedText(verbatim: error.description))
    }
}
