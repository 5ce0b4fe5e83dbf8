// The state that the HTTP/2 connections to one endpoint share: TLS settings, authorities, the session to resume,
// buffers, and the server's stream limit.

import Crypto
import DNSWire

/// A TLS session. It is resumed once, as RFC 8446 appendix C.4 recommends.
struct KeptSession {
    let session: TLSSession
    /// When a full handshake verified the certificate.
    let verifiedAt: Instant
}

/// The session that the next handshake offers to resume. Outlives the client of an idle endpoint.
enum Resumption {
    case nothing
    /// A session of the last reply is offered.
    case session(KeptSession)
    /// The server has ended a handshake that offered a session, so none is offered any more.
    case isRejected
}

final class TLSClient {
    static let http2 = "h2"
    /// Bytes that one TLS record can carry.
    static let recordBytes = 16 << 10
    /// Number of streams that the server accepts until its SETTINGS say otherwise, as RFC 9113 section 6.5.2
    /// recommends.
    static let usualStreams = 100

    /// Age of a verification at which the certificate is verified again, since a server can extend its sessions without
    /// end (RFC 8446 section 4.6.1). An expired certificate is therefore rejected within an hour.
    private static let maxVerificationAge: Duration = .seconds(3600)

    private let context: TLSContext
    private(set) var resumption: Resumption
    /// The last connection's limit, at least 1. The next connection begins with it, since its requests precede the
    /// SETTINGS.
    var maxStreams = TLSClient.usualStreams
    /// Bytes from the socket, overwritten by each read. A reply has a few hundred bytes, a server's handshake flight 2
    /// to 8 KiB.
    var received = [UInt8](repeating: 0, count: TLSClient.recordBytes)
    /// Decrypted bytes, overwritten by each read.
    var room = [UInt8](repeating: 0, count: TLSClient.recordBytes)
    /// Bytes before their encryption, overwritten by each write.
    var frames: [UInt8] = []

    init(for endpoint: HTTPEndpoint, _ resumption: Resumption) throws(TransferFailure) {
        do throws(CryptoError) {
            context = try TLSContext(caFile: endpoint.caFile, protocols: [TLSClient.http2, "http/1.1"], for: .requests)
        } catch {
            throw .tls(error.text)
        }
        self.resumption = resumption
    }

    /// - Returns: the connection and the session that it offers to resume.
    func connection(to endpoint: HTTPEndpoint, now: Instant) throws(CryptoError) -> (TLSConnection, KeptSession?) {
        var offered: KeptSession?
        if case .session(let kept) = resumption {
            if now < kept.verifiedAt + TLSClient.maxVerificationAge { offered = kept }
            resumption = .nothing
        }
        let connection = try TLSConnection(
            context, serverName: endpoint.serverName, verifiedName: endpoint.checkedName, resuming: offered?.session)
        return (connection, offered)
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
