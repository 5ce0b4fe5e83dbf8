// Connections that are dead, or die, when a request uses them: the client sends the request once more, and within its
// time.

import DNSWire
import HTTPClient
import LinuxIO
import Testing

@Suite struct RetryTests {
    private typealias Script = [StubServer.Step]

    private let loop = PollLoop()
    /// A time-out that no test reaches by itself; a test moves the clock to it.
    private static let stallTimeout = Duration.seconds(40)

    private static func answer(_ body: String) -> StubServer.Step {
        .send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// A server that answers one request and receives no other.
    private static let halfDead: Script = [.awaitRequest, .vanish, answer("one"), .hang]

    private func makeRequest(
        _ server: StubServer, method: HTTPRequest.Method = .get, cap: Int? = nil,
        timeout: Duration = .seconds(60), stallTimeout: Duration? = RetryTests.stallTimeout
    ) throws -> TransferRequest {
        let endpoint = try #require(
            HTTPEndpoint(
                scheme: .http, host: "provider.example", port: server.port, address: "127.0.0.1",
                maxRequestsPerConnection: cap))
        return TransferRequest(
            HTTPRequest(method: method, url: "/", body: method == .post ? Array("abc".utf8) : []), to: endpoint,
            timeout: timeout, connectTimeout: timeout, stallTimeout: stallTimeout)
    }

    private func text(_ id: TransferID) -> String? {
        loop.reply(id).map { String(decoding: $0.body, as: UTF8.self) }
    }

    /// Starts a request over a used connection; it does not reach the server.
    private func startUnheard(_ request: TransferRequest) -> TransferID {
        #expect(loop.reply(to: request)?.wasRetried == false)
        let id = loop.start(request)
        loop.run { !loop.isAcknowledged }
        return id
    }

    /// Starts a request over a used connection; it reaches the server.
    private func startExposed(_ request: TransferRequest, _ server: StubServer) -> TransferID {
        #expect(loop.reply(to: request)?.wasRetried == false)
        let received = server.received.count
        let id = loop.start(request)
        loop.run { server.received.count == received + 1 }
        return id
    }

    private func passStallTimeout() {
        loop.skip(RetryTests.stallTimeout)
    }

    @Test("a request that a reused connection does not carry is answered over a new one", arguments: [false, true])
    func stall(isPost: Bool) throws {
        try StubServer.with(scripts: [RetryTests.halfDead, [.awaitRequest, RetryTests.answer("two"), .hang]]) {
            server in
            let request = try makeRequest(server, method: isPost ? .post : .get)
            let id = startUnheard(request)
            #expect(loop.client.nextDeadline.map { $0 <= loop.now.advanced(by: RetryTests.stallTimeout) } == true)
            passStallTimeout()
            #expect(loop.client.transfersInFlight == 1)
            loop.run { loop.results[id] != nil }
            let reply = loop.reply(id)
            #expect(text(id) == "two" && reply?.wasRetried == true && reply?.newConnections == 1)
            #expect(reply.map(\.totalTime) ?? .zero >= RetryTests.stallTimeout)
            #expect(server.requests[0] == server.requests[1])
            #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 2, retried: 1))
            #expect(loop.client.transfersInFlight == 0)
        }
    }

    @Test("after a stall, other requests leave the old connections too, and those under way may still be answered")
    func othersLeave() throws {
        let answer = RetryTests.answer
        let scripts: [Script] = [
            RetryTests.halfDead, [.awaitRequest, .hold, answer("patient"), .hang],
            [.awaitRequest, answer("two"), .awaitRequest, answer("three"), .hang],
        ]
        try StubServer.with(scripts: scripts) { server in
            let request = try makeRequest(server)
            let stalled = startUnheard(request)
            let patient = loop.start(request)
            loop.run { server.received.count == 2 }
            passStallTimeout()
            loop.run { loop.results[stalled] != nil }
            #expect(loop.reply(to: request)?.connectionWasReused == true)
            server.goOn()
            loop.run { loop.results[patient] != nil }
            #expect([stalled, patient].map(text) == ["two", "patient"])
            #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 3, reused: 1, retried: 1))
            // The vanished connection receives no end either, so it stays open at the server.
            loop.run { server.openConnections == 2 }
        }
    }

    @Test("the first reply counts, be it that of the stalled request, and the other request is cancelled")
    func firstReplyCounts() throws {
        let first: Script = [
            .awaitRequest, .vanish, RetryTests.answer("one"), .hold, RetryTests.answer("late"), .hang,
        ]
        try StubServer.with(scripts: [first, [.awaitRequest, .hang]]) { server in
            let id = startUnheard(try makeRequest(server))
            passStallTimeout()
            loop.run { server.received.count == 2 }
            server.goOn()
            loop.run { loop.results[id] != nil }
            let reply = loop.reply(id)
            #expect(text(id) == "late" && reply?.wasRetried == true && reply?.newConnections == 0)
            loop.run { server.openConnections == 1 }
            #expect(loop.client.connections == ConnectionCounts(opened: 2, reused: 1, retried: 1))
        }
    }

    @Test("a stalled request over a new connection, or without a stall timeout, is not sent twice")
    func notWatched() throws {
        let late: Script = [.awaitRequest, .hold, RetryTests.answer("late")]
        for isFresh in [true, false] {
            try StubServer.with(isFresh ? late : [.awaitRequest, RetryTests.answer("one")] + late) { server in
                let request = try makeRequest(server, stallTimeout: isFresh ? RetryTests.stallTimeout : nil)
                let id = isFresh ? loop.start(request) : startExposed(request, server)
                loop.run { server.received.count == (isFresh ? 1 : 2) }
                passStallTimeout()
                server.goOn()
                loop.run { loop.results[id] != nil }
                #expect(text(id) == "late" && loop.reply(id)?.wasRetried == false)
                #expect(server.acceptedConnections == 1 && loop.client.connections.retried == 0)
            }
        }
    }

    @Test("a request that was read has reached the server, also if its retry is refused")
    func refusedRetry() throws {
        try StubServer.with([.awaitRequest, RetryTests.answer("one"), .awaitRequest, .hold, .reset]) { server in
            let request = try makeRequest(server)
            let id = startExposed(request, server)
            server.refuseDials()
            server.goOn()
            loop.run { loop.results[id] != nil }
            #expect(loop.failure(id) == .refused && loop.reached[id] == [request.endpoint])
        }
    }

    @Test("a request whose reply has begun is not sent twice")
    func begun() throws {
        let script: Script = [
            .awaitRequest, RetryTests.answer("one"), .awaitRequest, .hold, .send("HTTP/1.1 200 OK\r\nContent-"), .hold,
            .send("Length: 2\r\n\r\nhi"),
        ]
        try StubServer.with(script) { server in
            let id = startExposed(try makeRequest(server), server)
            let readings = loop.readings
            server.goOn()
            loop.run { loop.readings > readings }
            passStallTimeout()
            server.goOn()
            loop.run { loop.results[id] != nil }
            #expect(text(id) == "hi" && loop.reply(id)?.wasRetried == false && server.acceptedConnections == 1)
            #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 1, reused: 1))
        }
    }

    @Test("when both requests fail, the second one says why")
    func bothFail() throws {
        let first: Script = [
            .awaitRequest, .vanish, RetryTests.answer("one"), .hold, .send("HTTP/1.1 200 OK\r\n"), .reset,
        ]
        try StubServer.with(scripts: [first, [.awaitRequest, .send("SSH-2.0-OpenSSH_9.2\r\n\r\n")]]) { server in
            let id = startUnheard(try makeRequest(server))
            passStallTimeout()
            loop.run { server.received.count == 2 && server.openConnections == 1 }
            loop.run { loop.client.connections.open == 1 }
            #expect(loop.results[id] == nil && loop.client.transfersInFlight == 1)
            server.goOn()
            loop.run { loop.results[id] != nil }
            #expect(loop.failure(id)?.kind == "garbage")
            #expect(loop.client.connections == ConnectionCounts(opened: 2, retried: 1))
        }
    }

    @Test("the second request has the time that is left, and none is sent when none is")
    func timeLeft() throws {
        let scripts: [Script] = [RetryTests.halfDead, [.hang]]
        try StubServer.with(scripts: scripts) { server in
            let timeout = RetryTests.stallTimeout + .milliseconds(200)
            let id = startUnheard(try makeRequest(server, timeout: timeout))
            passStallTimeout()
            #expect(loop.client.connections.open == 2 && loop.client.connections.retried == 1)
            #expect(loop.results[id] == nil)
            loop.run { loop.results[id] != nil }
            #expect(loop.failure(id) == .timeout && loop.client.connections.open == 0)
        }
        try StubServer.with(scripts: scripts) { server in
            let id = startUnheard(try makeRequest(server, timeout: RetryTests.stallTimeout))
            passStallTimeout()
            #expect(loop.failure(id) == .timeout && loop.client.connections.retried == 1)
            #expect(loop.client.connections.open == 0 && server.acceptedConnections == 1)
        }
    }

    @Test("a request that was sent twice is cancelled as one, and ends once when connections are renewed")
    func cancelled() throws {
        for isCancelled in [true, false] {
            try StubServer.with(scripts: [RetryTests.halfDead, [.hang]]) { server in
                let id = startUnheard(try makeRequest(server))
                passStallTimeout()
                loop.run { server.openConnections == 2 }
                let now = loop.now
                if isCancelled { loop.client.cancel(id, now: now) } else { loop.client.renewConnections(now: now) }
                loop.collect()
                #expect(loop.failure(id) == (isCancelled ? nil : .networkChanged))
                #expect(loop.client.transfersInFlight == 0 && loop.client.connections.open == 0)
                #expect(loop.watchedDescriptors == 0)
                loop.run { server.openConnections == 1 }
            }
        }
    }

    @Test("a connection that closes as it is taken costs nothing but time", arguments: [false, true], [false, true])
    func closed(isReset: Bool, isPost: Bool) throws {
        let dying: Script = [.awaitRequest, RetryTests.answer("one"), .awaitRequest] + (isReset ? [.reset] : [])
        try StubServer.with(scripts: [dying, [.awaitRequest, RetryTests.answer("two")]]) { server in
            let request = try makeRequest(server, method: isPost ? .post : .get, stallTimeout: nil)
            #expect(loop.reply(to: request)?.status == 200)
            #expect(loop.reply(to: request)?.body == Array("two".utf8))
            #expect(server.requests[1] == server.requests[2] && server.acceptedConnections == 2)
        }
    }

    @Test("eight connections that close as they are taken are replaced by others")
    func allClosed() throws {
        let dying: Script = [.awaitRequest, .hold, RetryTests.answer("one"), .awaitRequest, .reset]
        let living = (0..<8).flatMap { _ in [.awaitRequest, RetryTests.answer("two")] } + [.hang]
        let scripts = [Script](repeating: dying, count: 8) + [living]
        try StubServer.with(scripts: scripts) { server in
            let request = try makeRequest(server, stallTimeout: nil)
            let first = (0..<8).map { _ in loop.start(request) }
            loop.run { server.received.count == 8 }
            for _ in first { server.goOn() }
            loop.run { first.allSatisfy { loop.results[$0] != nil } }
            #expect(loop.client.connections == ConnectionCounts(open: 8, opened: 8))
            let second = (0..<8).map { _ in loop.start(request) }
            loop.run { second.allSatisfy { loop.results[$0] != nil } }
            #expect(second.map(text) == [String](repeating: "two", count: 8))
            #expect(server.acceptedConnections > 8 && loop.client.connections.open <= 8)
        }
    }
}
