// The effects of a server's frames on the streams of one session, without a socket.

import CNghttp2
import DNSWire
import Testing

@testable import HTTPClient

@safe @Suite struct HTTP2SessionTests {
    private let session: HTTP2Session

    init() throws {
        session = try HTTP2Session()
        _ = exchange(HTTP2Frame.settings)
    }

    private func start(_ body: [UInt8]? = nil) throws -> Transfer {
        let endpoint = try #require(
            HTTPEndpoint(scheme: .https, host: "one.example", port: 443, address: "127.0.0.1"))
        let transfer = try Transfer(
            id: TransferID(number: 1),
            request: TransferRequest(
                HTTPRequest(method: body == nil ? .get : .post, url: "/", body: body ?? []), to: endpoint,
                timeout: .seconds(60), connectTimeout: .seconds(60)),
            now: Instant(nanoseconds: 0))
        try session.start(transfer)
        _ = exchange([])
        return transfer
    }

    /// Passes the server's frames and lets the session send its own.
    ///
    /// - Returns: the ends of streams in their order, and the error of the connection as text.
    private func exchange(_ frames: [UInt8]) -> (ends: [TransferEnd], error: String?) {
        let error = session.receive(frames[...])
        var output: [UInt8] = []
        let failure = session.appendOutput(to: &output)
        var ends: [TransferEnd] = []
        session.takeEnded { ends.append($0.end) }
        return (ends, error ?? failure)
    }

    private func takeSent() -> [Transfer] {
        var sent: [Transfer] = []
        session.takeSent { sent.append($0) }
        return sent
    }

    private func body(_ transfer: Transfer) -> String? {
        (try? transfer.reply(now: Instant(nanoseconds: 0)).get()).map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test("a reply that the server resets without an error before its end is not whole")
    func resetWithoutError() throws {
        _ = try start()
        let reply = HTTP2Frame.headers(stream: 1) + HTTP2Frame.data(stream: 1, "half", isEnd: false)
        #expect(exchange(reply + HTTP2Frame.reset(stream: 1, 0)).ends == [.failed(.reset)])
    }

    @Test("a reply is whole although the server has not let the client send its body", arguments: [false, true])
    func earlyReply(isReset: Bool) throws {
        _ = exchange(HTTP2Frame.settings(HTTP2Frame.initialWindowSize, 0))
        let transfer = try start(Array("body".utf8))
        let reply = HTTP2Frame.headers(stream: 1) + HTTP2Frame.data(stream: 1, "whole")
        let outcome = exchange(reply + (isReset ? HTTP2Frame.reset(stream: 1, 0) : []))
        #expect(outcome.ends == [.complete] && outcome.error == nil && body(transfer) == "whole")
        #expect(session.openStreams == 0)
    }

    @Test("a body waits for its window")
    func window() throws {
        _ = exchange(HTTP2Frame.settings(HTTP2Frame.initialWindowSize, 0))
        let transfer = try start(Array("body".utf8))
        #expect(takeSent().isEmpty)
        _ = exchange(HTTP2Frame.frame(.windowUpdate, stream: 1, HTTP2Frame.bytes(3)))
        #expect(takeSent().isEmpty)
        _ = exchange(HTTP2Frame.frame(.windowUpdate, stream: 1, HTTP2Frame.bytes(1)))
        #expect(takeSent().first === transfer)
    }

    /// The frames of a server that ends two requests, with the expected ends of their streams.
    private static let farewells: [(frames: [UInt8], ends: [TransferEnd])] = [
        (HTTP2Frame.goAway(lastStream: 0), [.refused, .refused]),
        (HTTP2Frame.goAway(lastStream: 1), [.leftOver]),
        // A graceful end: the first GOAWAY covers all streams.
        (HTTP2Frame.goAway(lastStream: 0x7FFF_FFFF) + HTTP2Frame.goAway(lastStream: 0), [.refused, .refused]),
        // A stream counts as not processed if the server refuses it, even if GOAWAY covers it.
        (
            HTTP2Frame.goAway(lastStream: 1) + HTTP2Frame.reset(stream: 1, HTTP2Frame.refusedStream),
            [.leftOver, .refused]
        ),
        (HTTP2Frame.reset(stream: 3, HTTP2Frame.refusedStream), [.refused]),
    ]

    @Test("a request is left over only while the connection carries another", arguments: farewells)
    func farewell(frames: [UInt8], ends: [TransferEnd]) throws {
        let transfers = try [start(), start()]
        #expect(exchange(frames).ends == ends && session.isDraining)
        #expect(transfers.count == 2)
    }

    @Test("the fields of a pushed request are not those of the reply")
    func push() throws {
        let transfer = try start()
        // The headers are ":method: GET" and "date:" without a value.
        let promised = HTTP2Frame.frame(
            .pushPromise, flags: 4, stream: 1, HTTP2Frame.bytes(2) + [0x82, 0x87, 0x84, 0x80 | 33])
        let outcome = exchange(promised + HTTP2Frame.headers(stream: 1) + HTTP2Frame.data(stream: 1, "one"))
        if outcome.error == nil, outcome.ends == [.complete] {
            let reply = try transfer.reply(now: Instant(nanoseconds: 0)).get()
            #expect(reply.headers.count == 0)
        } else {
            #expect(outcome.error != nil || outcome.ends == [.failed(.reset)])
        }
    }

    @Test("a session without stream numbers takes no request")
    func lastNumber() throws {
        _ = unsafe nghttp2_session_set_next_stream_id(session.session, Int32.max)
        #expect(!session.isDraining)
        _ = try start()
        #expect(session.isDraining)
    }

    /// Frames that break the protocol on one stream, after the settings.
    private static let wrongStreams: [[UInt8]] = [
        // The reply has no status.
        HTTP2Frame.frame(.headers, flags: 4, stream: 1, [0x80 | 33]),
        // The header "Up: a" has an upper-case name.
        HTTP2Frame.frame(.headers, flags: 4, stream: 1, [0x88, 0, 2, 0x55, 0x70, 1, 0x61]),
        // The body has four bytes instead of three.
        HTTP2Frame.frame(.headers, flags: 4, stream: 1, [0x88, 0x0F, 0x0D, 1, 0x33])
            + HTTP2Frame.data(stream: 1, "four"),
        // The body has two bytes instead of three.
        HTTP2Frame.frame(.headers, flags: 4, stream: 1, [0x88, 0x0F, 0x0D, 1, 0x33])
            + HTTP2Frame.data(stream: 1, "ab"),
        // The reply has a second final status.
        HTTP2Frame.headers(stream: 1) + HTTP2Frame.headers(stream: 1) + HTTP2Frame.data(stream: 1, "a"),
        // Trailers come without the end of the stream.
        HTTP2Frame.headers(stream: 1) + HTTP2Frame.frame(.headers, flags: 4, stream: 1, [0x80 | 33]),
        // The status is 101, which HTTP/2 does not have.
        HTTP2Frame.frame(.headers, flags: 4, stream: 1, [8, 3, 0x31, 0x30, 0x31]),
    ]

    @Test("a wrong reply is reset, and the other stream goes on", arguments: wrongStreams)
    func wrongStream(frames: [UInt8]) throws {
        let transfers = try [start(), start()]
        let first = exchange(frames)
        #expect(first.ends == [.failed(.reset)] && first.error == nil)
        #expect(exchange(HTTP2Frame.headers(stream: 3) + HTTP2Frame.data(stream: 3, "two")).ends == [.complete])
        #expect(body(transfers[1]) == "two")
    }

    /// Frames that break the protocol of the connection.
    private static let wrongConnections: [[UInt8]] = [
        // The body comes before the headers.
        HTTP2Frame.data(stream: 1, "early"),
        // The frame is for an idle stream.
        HTTP2Frame.data(stream: 5, "idle"), HTTP2Frame.headers(stream: 2),
        HTTP2Frame.frame(.windowUpdate, stream: 5, HTTP2Frame.bytes(1)),
        HTTP2Frame.reset(stream: 5, 8),
        // Another frame interrupts a header block.
        HTTP2Frame.frame(.headers, stream: 1, [0x88]) + HTTP2Frame.ping,
        HTTP2Frame.frame(.continuation, flags: 4, stream: 1, [0x88]),
        // The frame has a wrong length or stream number.
        HTTP2Frame.frame(.ping, stream: 0, [0]), HTTP2Frame.frame(.settings, stream: 0, [0]),
        HTTP2Frame.frame(.goAway, stream: 1, [UInt8](repeating: 0, count: 8)),
        // The frame exceeds the client's limit.
        HTTP2Frame.frame(.data, stream: 1, [UInt8](repeating: 0, count: 20_000)),
        // The header index is not in HPACK's tables.
        HTTP2Frame.frame(.headers, flags: 4, stream: 1, [0xFF, 0x7F]),
        // The window of the connection exceeds 2^31 - 1.
        HTTP2Frame.frame(.windowUpdate, stream: 0, HTTP2Frame.bytes(0x7FFF_FFFF)),
        HTTP2Frame.settings(HTTP2Frame.initialWindowSize, 0x8000_0000),
        [UInt8]("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
    ]

    @Test("a server that breaks the protocol ends the session", arguments: wrongConnections)
    func wrongConnection(frames: [UInt8]) throws {
        _ = try start()
        let outcome = exchange(frames)
        #expect(outcome.error != nil || session.hasEnded)
    }

    /// Frames that cost a client something, repeated without end.
    private static let floods: [[UInt8]] = [
        HTTP2Frame.ping, HTTP2Frame.settings, HTTP2Frame.settings(HTTP2Frame.initialWindowSize, 1),
        HTTP2Frame.reset(stream: 1, 8), HTTP2Frame.data(stream: 1, "", isEnd: false),
        HTTP2Frame.frame(.headers, flags: 4, stream: 1, [8, 3, 0x31, 0x30, 0x33]),
        HTTP2Frame.frame(.windowUpdate, stream: 0, HTTP2Frame.bytes(0)),
    ]

    @Test("a flood without a pause is answered within bounds", arguments: floods)
    func flood(frame: [UInt8]) throws {
        _ = try start()
        _ = exchange(HTTP2Frame.headers(stream: 1))
        var flood: [UInt8] = []
        for _ in 0..<20_000 { flood += frame }
        _ = session.receive(flood[...])
        var output: [UInt8] = []
        while session.hasOutput {
            let before = output.count
            if session.appendOutput(to: &output) != nil || output.count == before { break }
        }
        #expect(output.count < 64 << 10)
    }

    @Test("a header block without end ends the session or its stream")
    func endlessBlock() throws {
        _ = try start()
        var frames = HTTP2Frame.frame(.headers, stream: 1, [0x88])
        for _ in 0..<1000 {
            frames += HTTP2Frame.frame(.continuation, stream: 1, [UInt8](repeating: 0x80 | 33, count: 1000))
        }
        let outcome = exchange(frames)
        #expect(outcome.error != nil || outcome.ends == [.failed(.oversized)] || session.hasEnded)
    }

    @Test("streams that have ended leave nothing behind")
    func manyStreams() throws {
        for number in 0..<20_000 as Range<UInt32> {
            let transfer = try start()
            let stream = 2 * number + 1
            let outcome = exchange(HTTP2Frame.headers(stream: stream) + HTTP2Frame.data(stream: stream, "one"))
            guard outcome.ends == [.complete], transfer.streamID == nil else {
                Issue.record("stream \(stream): \(outcome)")
                return
            }
        }
        #expect(session.openStreams == 0 && takeSent().count == 20_000)
    }
}
