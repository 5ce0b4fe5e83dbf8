// What the TLS connections to one endpoint share: settings, authorities, the session to resume, a buffer.

import Crypto

final class TLSClient {
    static let http2 = "h2"

    private let context: TLSContext
    /// From the last reply; used once, as RFC 8446 appendix C.4 recommends.
    var session: TLSSession?
    /// Decrypted bytes, overwritten by each read.
    var room = [UInt8](repeating: 0, count: HTTP2Session.outputBytes)

    init(for endpoint: HTTPEndpoint, session: TLSSession?) throws(TransferFailure) {
        do throws(CryptoError) {
            context = try TLSContext(caFile: endpoint.caFile, protocols: [TLSClient.http2, "http/1.1"], for: .requests)
        } catch {
            throw .tls(error.text)
        }
        self.session = session
    }

    func connection(to endpoint: HTTPEndpoint) throws(CryptoError) -> TLSConnection {
        defer { session = nil }
        return try TLSConnection(
            context, serverName: endpoint.serverName, verifiedName: endpoint.checkedName, resuming: session)
    }
}
