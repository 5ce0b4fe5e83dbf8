// One listening socket served by libmicrohttpd. It uses one thread per connection, so that a fault delays only its own
// request. The `respond` closure of the context decides every reply.

import CMicrohttpd
package import DNSWire
import Glibc
import LinuxIO
import Synchronization

/// State that all threads of a listener share.
package final class ListenerContext: Sendable {
    let respond: @Sendable (HTTPRequest) -> (reply: HTTPReply, fault: Fault?)
    /// Changes when hanging requests must be released.
    let generation: @Sendable () -> Int
    let isEnding = Atomic(false)

    package init(
        respond: @escaping @Sendable (HTTPRequest) -> (reply: HTTPReply, fault: Fault?),
        generation: @escaping @Sendable () -> Int
    ) {
        self.respond = respond
        self.generation = generation
    }
}

package struct ListenError: Error {
    package let errno: Int32
}

@safe package struct HTTPListener: ~Copyable {
    private let daemon: OpaquePointer
    private let context: ListenerContext

    /// Certificate and key of a TLS listener, as PEM text.
    package struct Credentials {
        let certificate: String
        let key: String
    }

    /// Bound on connections: more clients than any test uses; further connections are closed.
    private static let connectionLimit: UInt32 = 1024

    package init(on endpoint: SocketAddress, credentials: Credentials?, context: ListenerContext) throws(ListenError) {
        self.context = context
        var flags = MHD_USE_INTERNAL_POLLING_THREAD.rawValue | MHD_USE_THREAD_PER_CONNECTION.rawValue
        if endpoint.isIPv6 { flags |= MHD_USE_IPv6.rawValue }
        if credentials != nil { flags |= MHD_USE_TLS.rawValue }
        var address = endpoint.kernel
        let started = unsafe address.withPointer { address, _ in
            unsafe lab_start(
                flags, address, HTTPListener.connectionLimit, answerCallback, completedCallback,
                connectionCallback, Unmanaged.passUnretained(context).toOpaque(), credentials?.key,
                credentials?.certificate)
        }
        guard let daemon = unsafe started else { throw ListenError(errno: errno) }
        unsafe self.daemon = daemon
    }

    /// The listening port; the kernel chose it if 0 was requested.
    package var port: UInt16 { UInt16(truncatingIfNeeded: unsafe lab_port(daemon)) }

    /// Closes every connection and waits for its thread, so that no callback uses the context afterwards.
    deinit {
        context.isEnding.store(true, ordering: .relaxed)
        unsafe MHD_stop_daemon(daemon)
    }
}

/// State of one connection.
private final class ConnectionState {
    var requests = 0
}

private let connectionCallback: MHD_NotifyConnectionCallback = { _, _, slot, code in
    guard let slot = unsafe slot else { return }
    switch code {
    case .CONNECTION_NOTIFY_STARTED: unsafe slot.pointee = Unmanaged.passRetained(ConnectionState()).toOpaque()
    default:
        guard let state = unsafe slot.pointee else { return }
        unsafe Unmanaged<ConnectionState>.fromOpaque(state).release()
        unsafe slot.pointee = nil
    }
}

/// A request body while it is being received.
private final class Upload {
    var bytes: [UInt8] = []
}

private let answerCallback: MHD_AccessHandlerCallback = {
    context, connection, url, method, _, bytes, byteCount, slot in
    guard let context = unsafe context, let connection = unsafe connection, let slot = unsafe slot,
        let url = unsafe url, let method = unsafe method, let byteCount = unsafe byteCount
    else { return .NO }
    guard let state = unsafe slot.pointee else {
        unsafe slot.pointee = Unmanaged.passRetained(Upload()).toOpaque()
        return .YES
    }
    let upload = unsafe Unmanaged<Upload>.fromOpaque(state).takeUnretainedValue()
    if unsafe byteCount.pointee > 0 {
        let arrived = unsafe UnsafeRawBufferPointer(start: bytes, count: byteCount.pointee)
        unsafe upload.bytes += arrived.prefix(Exchange.maxBodyBytes + 1 - upload.bytes.count)
        unsafe byteCount.pointee = 0
        return .YES
    }
    let listener = unsafe Unmanaged<ListenerContext>.fromOpaque(context).takeUnretainedValue()
    guard let state = unsafe lab_connection_state(connection) else { return .NO }
    let known = unsafe Unmanaged<ConnectionState>.fromOpaque(state).takeUnretainedValue()
    known.requests += 1
    let exchange = unsafe Exchange(connection: connection, context: listener, requestNumber: known.requests)
    return unsafe exchange.answer(method: String(cString: method), path: String(cString: url), body: upload.bytes)
}

private let completedCallback: MHD_RequestCompletedCallback = { _, _, slot, _ in
    guard let state = unsafe slot?.pointee else { return }
    unsafe Unmanaged<Upload>.fromOpaque(state).release()
    unsafe slot?.pointee = nil
}
