// Serves HTTP with libmicrohttpd on connections that the caller accepts, within the caller's event loop. It has no
// thread, no listening socket and no clock; the `answer` closure decides every reply.

import CMicrohttpd
package import DNSWire
import Glibc
import LinuxIO

@safe package final class HTTPServer {
    /// Memory per connection for the request line and headers, and for the reply's headers. Longer requests get 414 or
    /// 431.
    private static let connectionBytes = 16 * 1024
    /// libmicrohttpd's own limit, which is never reached: a connection without a place closes in the next loop turn.
    private static let connectionLimit = UInt32(4 * ConnectionShares.max)

    private let daemon: OpaquePointer
    private let context: Context
    private var places = ConnectionPlaces()
    /// Connections that were closed before they got a reply.
    package private(set) var cut = 0

    /// libmicrohttpd gives no reason for the failure.
    package struct StartFailure: Error {}

    /// State of the callbacks. They record events and request answers, but never run the server.
    fileprivate final class Context {
        let answer: (PageRequest) -> PageReply
        var closed: [Int32] = []
        /// Connections from a loopback address.
        var ofThisMachine: Set<Int32> = []
        var requests = 0

        init(answer: @escaping (PageRequest) -> PageReply) {
            self.answer = answer
        }
    }

    package init(answer: @escaping (PageRequest) -> PageReply) throws(StartFailure) {
        context = Context(answer: answer)
        let started = unsafe web_start(
            HTTPServer.connectionLimit, HTTPServer.connectionBytes, answerCallback, connectionCallback,
            Unmanaged.passUnretained(context).toOpaque())
        guard let daemon = unsafe started else { throw StartFailure() }
        unsafe self.daemon = daemon
    }

    /// Closes every connection. No callback uses the context afterwards.
    deinit { unsafe MHD_stop_daemon(daemon) }

    /// The descriptor that is readable when `run` has something to do.
    package var descriptor: Int32 { unsafe web_epoll(daemon) }

    /// Number of replies, including refusals.
    package var requests: Int { context.requests }

    package func nextDeadline(now: Instant) -> Instant? {
        var milliseconds: UInt64 = 0
        let isPending = unsafe MHD_get_timeout(daemon, &milliseconds) == .YES
        let pending = isPending ? now + .milliseconds(Int64(clamping: milliseconds)) : nil
        return [pending, places.nextDeadline].compactMap { $0 }.min()
    }

    /// Serves a connection. The caller keeps its own descriptor and may close it at once.
    package func add(_ connection: Int32, from client: PageClient, now: Instant) {
        let own = web_duplicate(connection)
        guard own >= 0 else { return }
        switch places.take(own, from: client, now: now) {
        case .free: break
        case .closing(let victim): end(victim)
        case .refused:
            cut += 1
            Glibc.close(own)
            return
        }
        if client.isOnThisMachine { context.ofThisMachine.insert(own) }
        if unsafe !web_add(daemon, own) { closed(own) }
        run(now: now)
    }

    package func run(now: Instant) {
        for descriptor in places.overdue(now: now) { end(descriptor) }
        _ = unsafe MHD_run(daemon)
        for descriptor in context.closed { closed(descriptor) }
        context.closed.removeAll(keepingCapacity: true)
    }

    private func closed(_ descriptor: Int32) {
        places.closed(descriptor)
        context.ofThisMachine.remove(descriptor)
    }

    /// libmicrohttpd owns the descriptor until its callback reports the close. After the shutdown it finds the
    /// connection ended and closes it.
    private func end(_ descriptor: Int32) {
        cut += 1
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }
}

private let connectionCallback: MHD_NotifyConnectionCallback = { context, connection, _, code in
    guard code == .CONNECTION_NOTIFY_CLOSED, let context = unsafe context, let connection = unsafe connection else {
        return
    }
    let descriptor = unsafe mhd_socket(connection)
    unsafe Unmanaged<HTTPServer.Context>.fromOpaque(context).takeUnretainedValue().closed.append(descriptor)
}

/// Replies as soon as the headers are complete. A request body is not read, since no supported request has one.
private let answerCallback: MHD_AccessHandlerCallback = { context, connection, url, method, _, _, _, _ in
    guard let context = unsafe context, let connection = unsafe connection, let url = unsafe url,
        let method = unsafe method
    else { return .NO }
    let known = unsafe Unmanaged<HTTPServer.Context>.fromOpaque(context).takeUnretainedValue()
    known.requests += 1
    do throws(InvalidText) {
        let isFromThisMachine = unsafe known.ofThisMachine.contains(mhd_socket(connection))
        return unsafe send(
            known.answer(try request(connection, url, method, isFromThisMachine: isFromThisMachine)), to: connection)
    } catch {
        return unsafe send(PageReply(400, "the request has a NUL byte, or is not UTF-8\n"), to: connection)
    }
}

/// A text of a request with an encoded NUL, which would end it too early, or with bytes that are not UTF-8. At a NUL
/// that is not encoded, libmicrohttpd itself ends the text.
private struct InvalidText: Error {}

private func request(
    _ connection: OpaquePointer, _ url: UnsafePointer<CChar>, _ method: UnsafePointer<CChar>, isFromThisMachine: Bool
) throws(InvalidText) -> PageRequest {
    guard let path = unsafe String(validatingCString: url), let method = unsafe String(validatingCString: method) else {
        throw InvalidText()
    }
    var arguments: [PageRequest.Argument: String] = [:]
    for argument in PageRequest.Argument.allCases {
        arguments[argument] = try unsafe value(argument.rawValue, .GET_ARGUMENT_KIND, of: connection)
    }
    return try unsafe PageRequest(
        method: method, path: path, host: value("Host", .HEADER_KIND, of: connection),
        fetchSite: value("Sec-Fetch-Site", .HEADER_KIND, of: connection), isFromThisMachine: isFromThisMachine,
        arguments: arguments)
}

/// Returns a header or an argument with its escapes decoded; nil if there is none.
private func value(
    _ name: String, _ kind: MHD_ValueKind, of connection: OpaquePointer
) throws(InvalidText) -> String? {
    var (start, count): (UnsafePointer<CChar>?, Int) = (nil, 0)
    let found = unsafe MHD_lookup_connection_value_n(connection, kind, name, name.utf8.count, &start, &count)
    guard found == .YES, let start = unsafe start else { return nil }
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
    guard let text = unsafe String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else {
        throw InvalidText()
    }
    return text
}

private func send(_ reply: PageReply, to connection: OpaquePointer) -> MHD_Result {
    let made = unsafe reply.body.withUnsafeBytes { bytes in
        unsafe MHD_create_response_from_buffer(
            bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let response = unsafe made else { return .NO }
    defer { unsafe MHD_destroy_response(response) }
    for header in reply.headers { _ = unsafe MHD_add_response_header(response, header.name, header.value) }
    return unsafe MHD_queue_response(connection, reply.status, response)
}
