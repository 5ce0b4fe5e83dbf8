// The server's end of a handshake: OpenSSL's server over memory. It accepts every key and version that OpenSSL still
// supports, whatever the default is.

import COpenSSL

@safe final class MemoryServer {
    struct Terms {
        var lowest = TLS1_VERSION
        var highest = TLS1_3_VERSION
        /// The only name that it serves; others get an alert. Nil: it ignores the name.
        var onlyName: String?
        /// The protocol of its ALPN reply, offered or not; nil: no reply.
        var protocolName: String?
    }

    private let context: OpaquePointer
    private let tls: OpaquePointer
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private let terms: Terms
    private(set) var isDone = false
    private(set) var received: [UInt8] = []
    /// The server name that the client has sent (SNI).
    private(set) var name: String?
    /// The memory must stay in place for OpenSSL.
    private let chosenProtocol: UnsafeMutableBufferPointer<UInt8>

    /// - Parameter chain: the certificates, the server's own first.
    init(_ chain: [TestCertificate], _ terms: Terms = Terms()) {
        guard let context = unsafe SSL_CTX_new(TLS_server_method()), let own = chain.first else {
            preconditionFailure("no server for a test")
        }
        unsafe SSL_CTX_set_security_level(context, 0)
        unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(terms.lowest), nil)
        unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(terms.highest), nil)
        precondition(unsafe SSL_CTX_use_certificate(context, own.pointer) == 1)
        unsafe own.key.use(in: context)
        for certificate in chain.dropFirst() {
            unsafe SSL_CTX_ctrl(
                context, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate.pointer))
        }
        guard let tls = unsafe SSL_new(context), let incoming = unsafe BIO_new(BIO_s_mem()),
            let outgoing = unsafe BIO_new(BIO_s_mem())
        else { preconditionFailure("no server for a test") }
        unsafe SSL_set_bio(tls, incoming, outgoing)
        unsafe SSL_set_accept_state(tls)
        unsafe self.context = context
        unsafe self.tls = tls
        unsafe self.incoming = incoming
        unsafe self.outgoing = outgoing
        self.terms = terms
        let choice = Array((terms.protocolName ?? "").utf8)
        unsafe chosenProtocol = .allocate(capacity: choice.count)
        _ = unsafe chosenProtocol.initialize(from: choice)
        installCallbacks()
    }

    deinit {
        unsafe SSL_free(tls)
        unsafe SSL_CTX_free(context)
        unsafe chosenProtocol.deallocate()
    }

    /// The server's reply to these bytes.
    func reply(to bytes: [UInt8]) -> [UInt8] {
        unsafe BIO_write(incoming, bytes, Int32(bytes.count))
        if !isDone { isDone = unsafe SSL_do_handshake(tls) == 1 }
        if isDone { read() }
        ERR_clear_error()
        return takeOutgoing()
    }

    func send(_ plain: [UInt8]) -> [UInt8] {
        precondition(unsafe SSL_write(tls, plain, Int32(plain.count)) == plain.count)
        return takeOutgoing()
    }

    func close() -> [UInt8] {
        unsafe SSL_shutdown(tls)
        return takeOutgoing()
    }

    /// Requests new keys, which only TLS 1.3 has.
    func askForNewKeys() -> [UInt8] {
        unsafe SSL_key_update(tls, SSL_KEY_UPDATE_REQUESTED)
        unsafe SSL_do_handshake(tls)
        return takeOutgoing()
    }

    /// Requests another handshake, which only TLS 1.2 has.
    func askForAnotherHandshake() -> [UInt8] {
        unsafe SSL_renegotiate(tls)
        unsafe SSL_do_handshake(tls)
        return takeOutgoing()
    }

    private func read() {
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = unsafe SSL_read(tls, &chunk, Int32(chunk.count))
            guard count > 0 else { return }
            received += chunk[..<Int(count)]
        }
    }

    private func takeOutgoing() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: unsafe BIO_ctrl_pending(outgoing))
        if !bytes.isEmpty { unsafe BIO_read(outgoing, &bytes, Int32(bytes.count)) }
        return bytes
    }

    private func installCallbacks() {
        let ourselves = unsafe Unmanaged.passUnretained(self).toOpaque()
        let nameArrived: NameArrived = { tls, _, ourselves in
            guard let server = unsafe MemoryServer.borrowed(ourselves) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
            server.name = unsafe SSL_get_servername(tls, TLSEXT_NAMETYPE_host_name).map { unsafe String(cString: $0) }
            let isServed = server.terms.onlyName == nil || server.terms.onlyName == server.name
            return isServed ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
        }
        // OpenSSL stores callbacks of every kind as functions without parameters.
        let stored = unsafe unsafeBitCast(nameArrived, to: (@convention(c) () -> Void).self)
        unsafe SSL_CTX_callback_ctrl(context, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB, stored)
        unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_TLSEXT_SERVERNAME_ARG, 0, ourselves)
        unsafe SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, chosenCount, _, _, ourselves in
                guard let server = unsafe MemoryServer.borrowed(ourselves), unsafe server.chosenProtocol.count > 0
                else { return SSL_TLSEXT_ERR_NOACK }
                unsafe chosen?.pointee = UnsafePointer(server.chosenProtocol.baseAddress)
                unsafe chosenCount?.pointee = UInt8(server.chosenProtocol.count)
                return SSL_TLSEXT_ERR_OK
            }, ourselves)
    }

    private typealias NameArrived =
        @convention(c) (OpaquePointer?, UnsafeMutablePointer<Int32>?, UnsafeMutableRawPointer?) -> Int32

    private static func borrowed(_ context: UnsafeMutableRawPointer?) -> MemoryServer? {
        unsafe context.map { unsafe Unmanaged<MemoryServer>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// The TLS versions that the daemon uses.
enum TLSVersion: String, CaseIterable {
    case tls12 = "TLSv1.2"
    case tls13 = "TLSv1.3"

    var number: Int32 { self == .tls12 ? TLS1_2_VERSION : TLS1_3_VERSION }
}
