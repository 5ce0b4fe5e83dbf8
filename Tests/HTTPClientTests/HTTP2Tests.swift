// The effects of HTTP/2 servers on a session and its streams, with a stub that sends frame by frame.

import DNSWire
import HTTPClient
import LinuxIO
import Testing

@Suite struct HTTP2Tests {
    private typealias Script = [StubServer.Step]

    private let loop = PollLoop()
    private let certificates = Certificates()
    private let identity: TLSIdentity

    init() {
        identity = certificates.make("one.example", for: "DNS:one.example")
    }

    private func makeRequest(_ server: StubServer, stallTimeout: Duration? = nil) throws -> TransferRequest {
        let endpoint = try #require(
            HTTPEndpoint(
                scheme: .https, host: "one.example", port: server.port, address: "127.0.0.1",
                caFile: certificates.caFile))
        return TransferRequest(
            HTTPRequest(url: "/"), to: endpoint, timeout: .seconds(60), connectTimeout: .seconds(15),
            stallTimeout: stallTimeout)
    }

    private var opening: Script { [.startTLS(identity), .sendBytes(HTTP2Frame.settings)] }

    private func answer(_ stream: UInt32, _ text: String) -> Script {
        [
            .awaitFrame(.headers, stream: stream),
            .sendBytes(HTTP2Frame.headers(stream: stream) + HTTP2Frame.data(stream: stream, text)),
        ]
    }

    private func text(_ reply: TransferReply?) -> String? {
        reply.map { String(decoding: $0.body, as: UTF8.self) }
    }

    enum Fault: CaseIterable {
        case goAway, goAwayAndClose, refusedStream, internalError, close, reset

        var steps: [StubServer.Step] {
            let goAway = HTTP2Frame.goAway(lastStream: 1)
            return switch self {
            case .goAway: [.sendBytes(goAway), .hang]
            case .goAwayAndClose: [.sendBytes(goAway)]
            case .refusedStream: [.sendBytes(HTTP2Frame.reset(stream: 3, HTTP2Frame.refusedStream)), .hang]
            case .internalError: [.sendBytes(HTTP2Frame.reset(stream: 3, HTTP2Frame.internalError)), .hang]
            case .close: []
            case .reset: [.reset]
            }
        }
    }

    @Test("a session that ends a request before its reply costs nothing but time", arguments: Fault.allCases)
    func beforeTheReply(fault: Fault) throws {
        let dying = opening + answer(1, "one") + [.awaitFrame(.headers, stream: 3)] + fault.steps
        try StubServer.with(scripts: [dying, opening + answer(1, "two") + [.hang]]) { server in
            let request = try makeRequest(server)
            #expect(text(loop.reply(to: request)) == "one")
            let reply = loop.reply(to: request)
            #expect(text(reply) == "two" && reply?.httpVersion == .http2 && reply?.newConnections == 1)
            #expect(server.acceptedConnections == 2)
        }
    }

    @Test("a session that says goodbye in the middle of a reply brings it to its end, and is not used again")
    func goAwayInTheMiddle() throws {
        let first: Script =
            opening + answer(1, "one") + [
                .awaitFrame(.headers, stream: 3), .sendBytes(HTTP2Frame.headers(stream: 3)),
                .sendBytes(HTTP2Frame.data(stream: 3, "tw", isEnd: false) + HTTP2Frame.goAway(lastStream: 3)),
                .sendBytes(HTTP2Frame.data(stream: 3, "o")), .hang,
            ]
        try StubServer.with(scripts: [first, opening + answer(1, "three") + [.hang]]) { server in
            let request = try makeRequest(server)
            #expect((0..<3).map { _ in text(loop.reply(to: request)) } == ["one", "two", "three"])
            #expect(server.acceptedConnections == 2 && loop.client.connections.retried == 0)
        }
    }

    @Test(
        "a stream or session that ends in the middle of a reply is reset, and is not asked again",
        arguments: [[.sendBytes(HTTP2Frame.reset(stream: 3, HTTP2Frame.internalError)), .hang], [], [.reset]]
            as [[StubServer.Step]])
    func cutInTheMiddle(end: [StubServer.Step]) throws {
        let script: Script =
            opening + answer(1, "one") + [
                .awaitFrame(.headers, stream: 3), .sendBytes(HTTP2Frame.headers(stream: 3)),
                .sendBytes(HTTP2Frame.data(stream: 3, "tw", isEnd: false)),
            ] + end
        try StubServer.with(script) { server in
            let request = try makeRequest(server)
            #expect(text(loop.reply(to: request)) == "one")
            #expect(loop.failure(of: request) == .reset)
            #expect(server.acceptedConnections == 1 && loop.client.connections.retried == 0)
        }
    }

    @Test("requests about two subjects that are stuck in a session leave it, and share the one that is opened for them")
    func halfDeadSession() throws {
        let streams: [UInt32] = [3, 5, 7]
        let dying = opening + answer(1, "one") + streams.map { .awaitFrame(.headers, stream: $0) } + [.hang]
        let alive = opening + [1, 3, 5].flatMap { answer($0, "two") } + answer(7, "three") + [.hang]
        try StubServer.with(scripts: [dying, alive]) { server in
            var request = try makeRequest(server, stallTimeout: .seconds(30))
            #expect(text(loop.reply(to: request)) == "one")
            let ids = streams.map { number in
                request = request.with(subject: Name(number == 7 ? "b" : "a"))
                return loop.start(request)
            }
            loop.run { server.received.count == 4 && loop.isAcknowledged }
            loop.skip(.seconds(30))
            loop.run { ids.allSatisfy { loop.results[$0] != nil } }
            let replies = ids.compactMap(loop.reply)
            #expect(replies.map(text) == ["two", "two", "two"] && replies.allSatisfy(\.wasRetried))
            #expect(replies.map(\.newConnections).sorted() == [0, 0, 1])
            #expect(text(loop.reply(to: request)) == "three")
            #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 2, reused: 3, retried: 3))
            loop.run { server.openConnections == 1 }
        }
    }

    @Test("a stuck request is remembered for its session until that brings something", arguments: [false, true])
    func stuckInTurn(bringsSomething: Bool) throws {
        let ping: Script = bringsSomething ? [.hold, .sendBytes(HTTP2Frame.ping)] : []
        let slow = opening + answer(1, "one") + [.awaitFrame(.headers, stream: 3)] + ping
        try StubServer.with(scripts: [
            slow + [.awaitFrame(.headers, stream: 5), .hang], opening + answer(1, "two") + [.hang],
        ]) { server in
            var request = try makeRequest(server, stallTimeout: .seconds(30))
            #expect(text(loop.reply(to: request)) == "one")
            for (number, subject) in ["a", "b"].enumerated() {
                request = request.with(subject: Name(subject))
                let id = loop.start(request)
                loop.run { server.received.count == 2 + number && loop.isAcknowledged }
                loop.skip(.seconds(30))
                #expect(loop.client.connections.retried == (number == 0 || bringsSomething ? 0 : 1))
                loop.client.cancel(id, now: loop.now)
                server.goOn()
            }
        }
    }

    @Test("a session that brings nothing until its request times out gets no further request")
    func timedOutSession() throws {
        let hanging = opening + answer(1, "one") + [.awaitFrame(.headers, stream: 3), .hang]
        try StubServer.with(scripts: [hanging, opening + answer(1, "two") + [.hang]]) { server in
            let request = try makeRequest(server, stallTimeout: .seconds(30))
            #expect(text(loop.reply(to: request)) == "one")
            let id = loop.start(request)
            loop.run { server.received.count == 2 && loop.isAcknowledged }
            loop.skip(.seconds(30))
            loop.client.cancel(id, hasTimedOut: true, now: loop.now)
            #expect(text(loop.reply(to: request)) == "two")
        }
    }

    @Test("requests about one subject that are stuck together stay where they are")
    func slowSubject() throws {
        let streams: [UInt32] = [3, 5, 7]
        let slow: Script =
            opening + answer(1, "one") + streams.map { .awaitFrame(.headers, stream: $0) }
            + [
                .hold,
                .sendBytes(streams.flatMap { HTTP2Frame.headers(stream: $0) + HTTP2Frame.data(stream: $0, "late") }),
            ]
            + [.hang]
        try StubServer.with(slow) { server in
            let request = try makeRequest(server, stallTimeout: .seconds(30))
            #expect(text(loop.reply(to: request)) == "one")
            let ids = streams.map { _ in loop.start(request) }
            loop.run { server.received.count == 4 && loop.isAcknowledged }
            loop.skip(.seconds(30))
            server.goOn()
            loop.run { ids.allSatisfy { loop.results[$0] != nil } }
            #expect(ids.map { text(loop.reply($0)) } == ["late", "late", "late"])
            #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 1, reused: 3))
        }
    }

    private var plainAnswer: Script {
        [.awaitRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain")]
    }

    @Test("a server without HTTP/2 is asked over HTTP/1.1 on the same connection, and later ones begin with that")
    func withoutHTTP2() throws {
        var plain = identity
        plain.speaksHTTP2 = false
        let asked = [.startTLS(plain)] + plainAnswer
        try StubServer.with(scripts: [asked + plainAnswer + [.hang], asked + [.hang]]) { server in
            let request = try makeRequest(server)
            for isReused in [false, true] {
                let reply = loop.reply(to: request)
                #expect(text(reply) == "plain" && reply?.httpVersion == .http1)
                #expect(reply?.connectionWasReused == isReused)
            }
            #expect(server.acceptedConnections == 1)
            loop.client.renewConnections(now: loop.now)
            let ids = [loop.start(request), loop.start(request)]
            #expect(loop.client.connections.open == 2, "neither waits for the protocol of the other's connection")
            loop.run { ids.allSatisfy { loop.results[$0] != nil } }
            #expect(ids.allSatisfy { text(loop.reply($0)) == "plain" } && server.acceptedConnections == 3)
        }
    }

    @Test("requests that wait for the protocol get connections of their own if it is HTTP/1.1")
    func manyWithoutHTTP2() throws {
        var plain = identity
        plain.speaksHTTP2 = false
        try StubServer.with([.startTLS(plain)] + plainAnswer + [.hang]) { server in
            let request = try makeRequest(server)
            let ids = (0..<5).map { _ in loop.start(request) }
            #expect(loop.client.connections.open == 1)
            loop.run { ids.allSatisfy { loop.results[$0] != nil } }
            #expect(ids.allSatisfy { text(loop.reply($0)) == "plain" && loop.reply($0)?.newConnections == 1 })
            #expect(server.acceptedConnections == 5)
        }
    }

    @Test("a request that the server wants over HTTP/1.1 is sent again that way")
    func wantsHTTP1() throws {
        var plain = identity
        plain.speaksHTTP2 = false
        let wanting: Script =
            opening + [
                .awaitFrame(.headers, stream: 1), .sendBytes(HTTP2Frame.reset(stream: 1, HTTP2Frame.http11Required)),
                .hang,
            ]
        try StubServer.with(scripts: [wanting, [.startTLS(plain)] + plainAnswer + plainAnswer + [.hang]]) { server in
            let request = try makeRequest(server)
            #expect(text(loop.reply(to: request)) == "plain")
            #expect(text(loop.reply(to: request)) == "plain" && server.acceptedConnections == 2)
            #expect(loop.client.connections.open == 1)
        }
    }

    @Test("requests that were started in one turn share one write")
    func oneWrite() throws {
        let streams: [UInt32] = [3, 5, 7, 9]
        let script = opening + answer(1, "one") + streams.flatMap { answer($0, "two") } + [.hang]
        try StubServer.with(script) { server in
            let request = try makeRequest(server)
            #expect(text(loop.reply(to: request)) == "one")
            let before = loop.sentSegments
            let ids = streams.map { _ in loop.start(request) }
            loop.client.flush(now: loop.now)
            #expect(loop.sentSegments == before + 1)
            loop.run { ids.allSatisfy { loop.results[$0] != nil } }
            #expect(ids.allSatisfy { text(loop.reply($0)) == "two" })
        }
    }

    @Test("a request that the server refuses on two connections is reset")
    func alwaysRefused() throws {
        let refusing =
            opening + [.awaitFrame(.headers, stream: 1), .sendBytes(HTTP2Frame.goAway(lastStream: 0)), .hang]
        try StubServer.with(refusing) { server in
            let request = try makeRequest(server)
            #expect(loop.failure(of: request) == .reset)
            #expect(server.acceptedConnections == 2 && loop.client.connections.open == 0)
        }
    }

    @Test("a server that takes one request on each connection answers all")
    func oneRequestEach() throws {
        let scripts = [7, 5, 3].map { (last: UInt32) -> Script in
            opening + [
                .awaitFrame(.headers, stream: last), .sendBytes(HTTP2Frame.goAway(lastStream: 1)),
                .sendBytes(HTTP2Frame.headers(stream: 1) + HTTP2Frame.data(stream: 1, "one")), .hang,
            ]
        }
        try StubServer.with(scripts: scripts + [opening + answer(1, "one") + [.hang]]) { server in
            let request = try makeRequest(server)
            let ids = (0..<4).map { _ in loop.start(request) }
            loop.run { ids.allSatisfy { loop.results[$0] != nil } }
            #expect(ids.allSatisfy { text(loop.reply($0)) == "one" })
            #expect(server.acceptedConnections == 4)
        }
    }
}
