// One connection of a stub server, plain or with TLS. One thread uses it.

import COpenSSL
import Glibc

@safe final class Stream {
    let descriptor: Int32
    private var session: OpaquePointer?
    /// Received bytes that were not asked for yet.
    private var pending: [UInt8] = []

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        if let session = unsafe session { unsafe SSL_free(session) }
    }

    /// Returns false if the client refuses TLS.
    func startTLS(_ identity: TLSIdentity) -> Bool {
        guard let context = unsafe SSL_CTX_new(TLS_server_method()) else { return false }
        defer { unsafe SSL_CTX_free(context) }
        let loaded =
            unsafe SSL_CTX_use_certificate_chain_file(context, identity.certificateFile) == 1
            && SSL_CTX_use_PrivateKey_file(context, identity.keyFile, SSL_FILETYPE_PEM) == 1
        precondition(loaded, "no certificate for a server")
        if identity.speaksHTTP2 { unsafe Stream.chooseHTTP2(context) }
        unsafe session = SSL_new(context)
        return unsafe SSL_set_fd(session, descriptor) == 1 && SSL_accept(session) == 1
    }

    func endTLS() { _ = unsafe SSL_shutdown(session) }

    private static func chooseHTTP2(_ context: OpaquePointer) {
        unsafe SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, chosenCount, offered, offeredCount, _ in
                let wanted: [UInt8] = [2, 0x68, 0x32]
                // The offer is a whole list in wire form. The chosen protocol points into the offer, which outlives the
                // call.
                let offer = unsafe UnsafeBufferPointer(start: offered, count: Int(offeredCount))
                guard let index = offer.indices.first(where: { unsafe offer[$0...].starts(with: wanted) })
                else { return SSL_TLSEXT_ERR_NOACK }
                unsafe chosen?.pointee = offered?.advanced(by: index + 1)
                unsafe chosenCount?.pointee = 2
                return SSL_TLSEXT_ERR_OK
            }, nil)
    }

    /// Returns false if the client has closed the connection.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        guard unsafe session != nil else { return Sockets.send(bytes, to: descriptor) }
        return unsafe bytes.withUnsafeBytes { unsafe SSL_write(session, $0.baseAddress, Int32($0.count)) } > 0
    }

    /// The received bytes; empty at the end of the stream.
    func receive() -> [UInt8] {
        if !pending.isEmpty {
            defer { pending = [] }
            return pending
        }
        guard unsafe session != nil else { return Sockets.receive(from: descriptor) }
        return unsafe Array(unsafeUninitializedCapacity: 4096) { buffer, count in
            count = unsafe max(0, Int(SSL_read(session, buffer.baseAddress, Int32(buffer.count))))
        }
    }

    /// The received bytes; nil if the stream ends before.
    func receive(until isComplete: ([UInt8]) -> Bool) -> [UInt8]? {
        var received: [UInt8] = []
        while !isComplete(received) {
            let bytes = receive()
            guard !bytes.isEmpty else { return nil }
            received += bytes
        }
        return received
    }

    /// The received bytes; nil if the stream ends before.
    func receive(count: Int) -> [UInt8]? {
        guard let received = receive(until: { $0.count >= count }) else { return nil }
        pending = Array(received[count...])
        return Array(received.prefix(count))
    }
}

struct TLSIdentity: Sendable {
    let certificateFile: String
    let keyFile: String
    /// Whether the server offers HTTP/2; otherwise it chooses no protocol.
    var speaksHTTP2 = true
}
