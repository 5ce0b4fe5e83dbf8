// The state that the connections to one endpoint share: TLS settings, authorities, the session to resume, buffers, and
// the server's limits.

import Crypto
import DNSWire

/// A TLS session. It is resumed once, as RFC 8446 appendix C.4 recommends.
struct KeptSession {
    let session: TLSSession
    /// When a full handshake verified the certificate.
    let verifiedAt: Instant
}

/// The session that the next handshake offers to resume. Outlives the dialer of an idle endpoint.
enum Resumption {
    case nothing
    /// A session of the last reply is offered.
    case session(KeptSession)
    /// The server has ended a handshake that offered a session, so none is offered any more.
    case isRejected
}

final class Dialer {
    private static let http2 = "h2"
    private static let http1 = "http/1.1"
    /// Bytes that one TLS record can carry.
    static let recordBytes = 16 << 10
    /// Number of streams that the server accepts until its SETTINGS say otherwise, as RFC 9113 section 6.5.2
    /// recommends.
    static let usualStreams = 100
    /// Time without acknowledgements after which a connection is closed: as long as a provider's reply is worth waiting
    /// for. The next request then uses a new connection.
    static let silenceMilliseconds: Int32 = 3000

    /// Age of a verification at which the certificate is verified again, since a server can extend its sessions without
    /// end (RFC 8446 section 4.6.1). An expired certificate is therefore rejected within an hour.
    private static let maxVerificationAge: Duration = .seconds(3600)

    let endpoint: HTTPEndpoint
    let interest: InterestHandler
    /// The TLS settings; nil for a server without TLS.
    private let context: TLSContext?
    private(set) var resumption: Resumption
    /// The server wants requests over HTTP/1.1, although it speaks HTTP/2 (HTTP_1_1_REQUIRED, RFC 9113 section 7).
    var requiresHTTP1 = false
    /// The last HTTP/2 connection's limit, at least 1. The next connection begins with it, since its requests precede
    /// the SETTINGS.
    var maxStreams = Dialer.usualStreams
    /// Bytes from the socket, overwritten by each read. A reply has a few hundred bytes, a server's handshake flight 2
    /// to 8 KiB.
    var received = [UInt8](repeating: 0, count: Dialer.recordBytes)
    /// Decrypted bytes, overwritten by each read; empty without TLS.
    var room: [UInt8]
    /// Bytes before their encryption, overwritten by each write.
    var frames: [UInt8] = []
    /// The head of an HTTP/1.1 request.
    var head = HTTP1Head()

    init(
        for endpoint: HTTPEndpoint, _ resumption: Resumption, interest: @escaping InterestHandler
    ) throws(TransferFailure) {
        let isSecure = endpoint.scheme == .https
        do throws(CryptoError) {
            context =
                isSecure
                ? try TLSContext(caFile: endpoint.caFile, protocols: [Dialer.http2, Dialer.http1], for: .requests) : nil
        } catch {
            throw .tls(error.text)
        }
        room = isSecure ? [UInt8](repeating: 0, count: Dialer.recordBytes) : []
        (self.endpoint, self.resumption, self.interest) = (endpoint, resumption, interest)
    }

    /// A TLS connection that begins its handshake.
    struct Handshake {
        let connection: TLSConnection
        /// The session that it offers to resume.
        let offered: KeptSession?
        private let mayChooseHTTP2: Bool

        fileprivate init(_ connection: TLSConnection, _ offered: KeptSession?, mayChooseHTTP2: Bool) {
            (self.connection, self.offered, self.mayChooseHTTP2) = (connection, offered, mayChooseHTTP2)
        }

        /// Call after the handshake: whether the server chose HTTP/2.
        var choseHTTP2: Bool { mayChooseHTTP2 && connection.protocolName == Dialer.http2 }
    }

    /// - Parameter mayResume: false for a full handshake, in which the server presents its certificate.
    /// - Returns: nil for a server without TLS.
    func handshake(mayResume: Bool, now: Instant) throws(CryptoError) -> Handshake? {
        guard let context else { return nil }
        var offered: KeptSession?
        if mayResume, case .session(let kept) = resumption {
            if now < kept.verifiedAt + Dialer.maxVerificationAge { offered = kept }
            resumption = .nothing
        }
        let connection = try TLSConnection(
            context, serverName: endpoint.serverName, verifiedName: endpoint.checkedName, resuming: offered?.session,
            protocols: requiresHTTP1 ? [Dialer.http1] : nil)
        return Handshake(connection, offered, mayChooseHTTP2: !requiresHTTP1)
    }

    /// Keeps the connection's session for the next one.
    func keepSession(of connection: TLSConnection, verifiedAt: Instant) {
        if case .isRejected = resumption { return }
        resumption =
            connection.resumableSession().map { .session(KeptSession(session: $0, verifiedAt: verifiedAt)) } ?? .nothing
    }

    /// Records that the server has ended a handshake that offered a session.
    func failedToResume() { resumption = .isRejected }
}
