// One request and its reply in libmicrohttpd: reads the request, queues the dialect's reply, and carries out faults.
// Runs on its connection's own thread, so it may block.

import CMicrohttpd
import DNSWire
import Glibc
import Synchronization

@safe struct Exchange {
    let connection: OpaquePointer
    let context: ListenerContext
    /// The number of the request on its connection, from 1.
    let requestNumber: Int

    /// Closes the connection without a reply.
    private static let drop = MHD_Result.NO

    func answer(method: String, path: String, body: [UInt8]) -> MHD_Result {
        guard body.count <= Exchange.maxBodyBytes else { return queue(HTTPReply(status: 413)) }
        switch method {
        case "GET": return answer(HTTPRequest(url: target(path), headers: headers))
        case "POST": return answer(HTTPRequest(method: .post, url: target(path), headers: headers, body: body))
        default: return queue(HTTPReply(status: 405, headers: HTTPHeaders([.init("Allow", "GET, POST")])))
        }
    }

    private func answer(_ request: HTTPRequest) -> MHD_Result {
        let (reply, fault) = context.respond(request)
        switch fault {
        // The reply contains these faults already.
        case nil, .clock, .nothing, .wrongName, .privateAddress: return queue(reply)
        case .delay(let milliseconds): return stays(forMilliseconds: milliseconds) ? queue(reply) : Exchange.drop
        case .status(let status, let retryAfter):
            let headers = retryAfter.map { [HTTPHeaders.Field("Retry-After", $0)] } ?? []
            return queue(HTTPReply(status: status, headers: HTTPHeaders(headers)))
        case .redirect:
            return queue(HTTPReply(status: 302, headers: HTTPHeaders([.init("Location", "/moved")])))
        case .hangLongConnection(let first) where requestNumber < first: return queue(reply)
        case .hang, .hangLongConnection:
            waitForReset()
            return Exchange.drop
        case .reset:
            reset()
            return Exchange.drop
        case .garbage: return queue(HTTPReply(headers: reply.headers, body: Noise.bytes))
        case .empty: return queue(HTTPReply(headers: reply.headers))
        case .huge: return queue(HTTPReply(headers: reply.headers, body: Exchange.hugeBody))
        case .gzipBomb: return queueCompressed(reply, Gzip.bomb)
        case .truncatedGzip: return queueCompressed(reply, Gzip.cut(reply.body))
        case .drip: return stream(reply, missingBytes: 0, pauseMilliseconds: Exchange.stepMilliseconds)
        case .short: return stream(reply, missingBytes: 100, pauseMilliseconds: 0)
        case .long: return queueTooLong(reply)
        case .early: return queue(reply, Response(stream: BodyStream([]) { _ in 0 }, announcedBytes: 100))
        case .stall: return queueHalf(reply)
        case .endlessChunks: return queueEndless(reply)
        }
    }

    /// The size of the largest DNS message. One more byte is read to detect a longer body, which is refused.
    static let maxBodyBytes = 65_535
    private static let stepMilliseconds: Int32 = 100
    /// Larger than the 64 KiB bound that every client should have.
    private static let hugeBody = [UInt8](repeating: UInt8(ascii: "0"), count: 200 << 10)

    // MARK: the request

    private var headers: HTTPHeaders {
        var headers = HTTPHeaders()
        for name in ["Accept", "Authorization", "Content-Type", "Host"] {
            guard let value = unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, name) else { continue }
            unsafe headers.add(name, String(cString: value))
        }
        return headers
    }

    /// Path and query exactly as in the request, including escapes.
    private func target(_ path: String) -> String {
        let query = Query()
        unsafe MHD_get_connection_values(
            connection, .GET_ARGUMENT_KIND,
            { context, _, key, value in
                guard let context = unsafe context, let key = unsafe key else { return .NO }
                let query = unsafe Unmanaged<Query>.fromOpaque(context).takeUnretainedValue()
                let text = unsafe value.map { unsafe "=" + String(cString: $0) } ?? ""
                unsafe query.parameters.append(String(cString: key) + text)
                return .YES
            }, Unmanaged.passUnretained(query).toOpaque())
        return query.parameters.isEmpty ? path : "\(path)?\(query.parameters.joined(separator: "&"))"
    }

    private final class Query {
        var parameters: [String] = []
    }

    // MARK: replies

    private func queue(_ reply: HTTPReply) -> MHD_Result {
        queue(reply, Response(body: reply.body))
    }

    private func queue(_ reply: HTTPReply, _ response: consuming Response) -> MHD_Result {
        for field in reply.headers.fields { response.add(field.name, field.value) }
        return unsafe response.queue(status: UInt32(truncatingIfNeeded: reply.status), on: connection)
    }

    private func stream(_ reply: HTTPReply, missingBytes: Int, pauseMilliseconds: Int32) -> MHD_Result {
        let exchange = self
        let body = BodyStream(reply.body) { offset in
            guard pauseMilliseconds > 0 else { return reply.body.count - offset }
            return exchange.stays(forMilliseconds: pauseMilliseconds) ? 1 : 0
        }
        return queue(reply, Response(stream: body, announcedBytes: reply.body.count + missingBytes))
    }

    /// Announces less than it sends. The connection is then closed, so that the surplus is not taken for the next
    /// reply.
    private func queueTooLong(_ reply: HTTPReply) -> MHD_Result {
        let response = Response(stream: BodyStream(reply.body) { reply.body.count - $0 }, announcedBytes: nil)
        response.announce(max(0, reply.body.count - 3))
        return queue(reply, response)
    }

    private func queueCompressed(_ reply: HTTPReply, _ body: [UInt8]) -> MHD_Result {
        var headers = reply.headers
        headers.add("Content-Encoding", "gzip")
        return queue(HTTPReply(headers: headers, body: body))
    }

    private func queueHalf(_ reply: HTTPReply) -> MHD_Result {
        let exchange = self
        let half = reply.body.count / 2
        let body = BodyStream(reply.body) { offset in
            if offset == half { exchange.waitForReset() }
            return half - offset
        }
        return queue(reply, Response(stream: body, announcedBytes: max(1, reply.body.count)))
    }

    private func queueEndless(_ reply: HTTPReply) -> MHD_Result {
        let exchange = self
        let body = BodyStream(repeating: Exchange.hugeBody) { exchange.stays(forMilliseconds: 1) ? .max : 0 }
        return queue(reply, Response(stream: body, announcedBytes: nil))
    }

    // MARK: the socket

    /// POLLRDHUP, which glibc defines only with _GNU_SOURCE.
    private static let clientGone: Int16 = 0x2000

    /// Waits for this time. Returns false as soon as the client disconnects or the lab ends.
    private func stays(forMilliseconds milliseconds: Int32) -> Bool {
        var left = milliseconds
        while left > 0, !context.isEnding.load(ordering: .relaxed) {
            let step = min(left, Exchange.stepMilliseconds)
            var descriptor = pollfd(fd: unsafe mhd_socket(connection), events: Exchange.clientGone, revents: 0)
            guard unsafe poll(&descriptor, 1, step) == 0 else { return false }
            left -= step
        }
        return left <= 0
    }

    /// Waits for a reset of the lab, or until the client disconnects.
    private func waitForReset() {
        let generation = context.generation()
        while context.generation() == generation, stays(forMilliseconds: Exchange.stepMilliseconds) {}
    }

    /// Disconnecting a connected TCP socket makes Linux send RST at once. SO_LINGER would send it only after
    /// libmicrohttpd's orderly shutdown.
    private func reset() {
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        _ = unsafe connect(mhd_socket(connection), &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }
}

/// Pseudorandom bytes, equal in every run.
private enum Noise {
    /// xorshift64 (Marsaglia 2003) from the seed 1.
    static let bytes: [UInt8] = {
        var state: UInt64 = 1
        return (0..<256).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state >> 32)
        }
    }()
}
