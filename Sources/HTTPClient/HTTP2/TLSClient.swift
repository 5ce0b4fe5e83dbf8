// What the HTTP/2 connections to one endpoint share: TLS settings, authorities, the session to resume, buffers, and
// the server's stream limit.

import Crypto
import DNSWire

/// Resumed once, as RFC 8446 appendix C.4 recommends.
struct KeptSession {
    let session: TLSSession
    /// When a full handshake verified the certificate.
    let verifiedAt: Instant
}

final class TLSClient {
    static let http2 = "h2"

    /// A server can extend its sessions without end, so the certificate is verified again after this time (RFC 8446
    /// section 4.6.1). Then it matters within the hour that it was revoked or has expired.
    private static let maxVerificationAge: Duration = .seconds(3600)

    private let context: TLSContext
    /// From the last reply.
    private(set) var session: KeptSession?
    /// False if the server has ended a handshake that offered a session.
    private var keepsSessions = true
    /// The last connection's limit, at least 1. The next one begins with it, since its requests precede the SETTINGS.
    var maxStreams = HTTP2Session.usualStreams
    /// From the socket, overwritten by each read. A reply has a few hundred bytes, a server's handshake flight 2 to 8
    /// KiB.
    var received = [UInt8](repeating: 0, count: HTTP2Session.outputBytes)
    /// Decrypted bytes, overwritten by each read.
    var room = [UInt8](repeating: 0, count: HTTP2Session.outputBytes)
    /// Before their encryption, overwritten by each write.
    var frames: [UInt8] = []

    init(for endpoint: HTTPEndpoint, session: KeptSession?) throws(TransferFailure) {
        do throws(CryptoError) {
            context = try TLSContext(caFile: endpoint.caFile, protocols: [TLSClient.http2, "http/1.1"], for: .requests)
        } catch {
            throw .tls(error.text)
        }
        self.session = session
    }

    /// - Returns: the connection and the session that it offers to resume.
    func connection(to endpoint: HTTPEndpoint, now: Instant) throws(CryptoError) -> (TLSConnection, KeptSession?) {
        let offered = session.flatMap { now < $0.verifiedAt + TLSClient.maxVerificationAge ? $0 : nil }
        session = nil
        let connection = try TLSConnection(
            context, serverName: endpoint.serverName, verifiedName: endpoint.checkedName, resuming: offered?.session)
        return (connection, offered)
    }

    /// Keeps the connection's session for the next one.
    func keepSession(of connection: TLSConnection, verifiedAt: Instant) {
        guard keepsSessions else { return }
        session = connection.resumableSession().map { KeptSession(session: $0, verifiedAt: verifiedAt) }
    }

    /// Records that the server has ended a handshake that offered a session.
    func failedToResume() { (session, keepsSessions) = (nil, false) }
}
