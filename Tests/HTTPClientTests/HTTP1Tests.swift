// Connections of HTTP/1.1: how many there are, which one a request takes, and when they are closed.

import DNSWire
import HTTPClient
import LinuxIO
import Testing

@Suite struct HTTP1Tests {
    private typealias Script = [StubServer.Step]

    private let loop = PollLoop()

    private static let answer = StubServer.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    private func makeRequest(
        _ server: StubServer, target: String = "/", idleSeconds: Int = 10, needsOwnConnection: Bool = false,
        certificates: Certificates? = nil
    ) throws -> TransferRequest {
        let endpoint = try #require(
            HTTPEndpoint(
                scheme: certificates == nil ? .http : .https, host: "one.example", port: server.port,
                address: "127.0.0.1", caFile: certificates?.caFile, idleSeconds: idleSeconds))
        return TransferRequest(
            HTTPRequest(url: target), to: endpoint, timeout: .seconds(60), connectTimeout: .seconds(60),
            needsOwnConnection: needsOwnConnection)
    }

    @Test("of 33 requests at once, the last one waits for the first connection that is free")
    func manyAtOnce() throws {
        try StubServer.with([.awaitRequest, .hold, HTTP1Tests.answer, .awaitRequest, HTTP1Tests.answer, .hang]) {
            server in
            let request = try makeRequest(server)
            let ids = (0..<32).map { _ in loop.start(request) }
            loop.run { server.received.count == 32 }
            let last = loop.start(try makeRequest(server, target: "/last"))
            #expect(loop.client.connections.open == 32)
            server.goOn()
            loop.run { loop.results[last] != nil }
            #expect(server.requests.last?.hasPrefix("GET /last ") == true)
            #expect(loop.reply(last)?.connectionWasReused == true)
            #expect(ids.count(where: { loop.results[$0] != nil }) == 1 && server.acceptedConnections == 32)
            for _ in 1..<32 { server.goOn() }
            loop.run { ids.allSatisfy { loop.results[$0] != nil } }
            #expect(loop.client.connections == ConnectionCounts(open: 32, opened: 32, reused: 1))
        }
    }

    @Test("requests that wait are sent in the order of their arrival, and a cancelled one is not sent")
    func waitingOrder() throws {
        try StubServer.with(
            [.awaitRequest, .hold] + (0..<4).flatMap { _ in [HTTP1Tests.answer, .awaitRequest] } + [.hang]
        ) {
            server in
            let ids = try (0..<32).map { _ in loop.start(try makeRequest(server)) }
            loop.run { server.received.count == 32 }
            let waiting = try (0..<4).map { loop.start(try makeRequest(server, target: "/\($0)")) }
            loop.client.cancel(waiting[1], now: loop.now)
            server.goOn()
            loop.run { waiting.count(where: { loop.results[$0] != nil }) == 3 }
            let targets = server.requests.dropFirst(32).map { $0.split(separator: " ")[1] }
            #expect(targets == ["/0", "/2", "/3"])
            for id in ids { loop.client.cancel(id, now: loop.now) }
        }
    }

    @Test("a request with its own connection takes the place of an idle one at the bound")
    func ownConnectionAtTheBound() throws {
        try StubServer.with([.awaitRequest, .hold, HTTP1Tests.answer, .hang]) { server in
            let request = try makeRequest(server)
            let ids = (0..<32).map { _ in loop.start(request) }
            loop.run { server.received.count == 32 }
            let own = loop.start(try makeRequest(server, needsOwnConnection: true))
            #expect(loop.client.connections.open == 32)
            server.goOn()
            loop.run { server.received.count == 33 }
            #expect(loop.client.connections.open == 32 && server.acceptedConnections == 33)
            for id in ids + [own] { loop.client.cancel(id, now: loop.now) }
            #expect(loop.client.connections.open == 0)
        }
    }

    @Test("the connection that was used last is taken first, and the others are closed when they are idle for too long")
    func mostRecentlyUsed() throws {
        let script: Script =
            [.awaitRequest, .hold] + (0..<4).flatMap { _ in [HTTP1Tests.answer, .awaitRequest] } + [.hang]
        try StubServer.with(script) { server in
            let request = try makeRequest(server, idleSeconds: 10)
            let ids = (0..<3).map { _ in loop.start(request) }
            loop.run { server.received.count == 3 }
            for _ in ids { server.goOn() }
            loop.run { ids.allSatisfy { loop.results[$0] != nil } }
            loop.skip(.seconds(6))
            #expect(loop.reply(to: request)?.connectionWasReused == true)
            loop.skip(.seconds(6))
            // A further request keeps the pool from resting.
            #expect(loop.reply(to: request)?.connectionWasReused == true)
            #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 3, reused: 2))
        }
    }

    @Test("an idle connection on which the server sends anything is closed", arguments: [false, true])
    func strayBytes(afterReply: Bool) throws {
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
        let stray = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        let first: Script =
            [.awaitRequest] + (afterReply ? [.send(reply), .hold, .send(stray)] : [.send(reply + stray)]) + [.hang]
        try StubServer.with(scripts: [first, [.awaitRequest, HTTP1Tests.answer, .hang]]) { server in
            let request = try makeRequest(server)
            #expect(loop.reply(to: request)?.body == Array("hi".utf8))
            #expect(loop.client.connections.open == (afterReply ? 1 : 0))
            server.goOn()
            if afterReply { loop.run { loop.client.connections.open == 0 } }
            let next = loop.reply(to: request)
            #expect(next?.body == Array("hi".utf8) && next?.newConnections == 1 && next?.wasRetried == false)
        }
    }

    /// The reply to a request that starts when what the server has sent lies unread in the kernel.
    private func replyWithUnreadBytes(to request: TransferRequest) -> TransferReply? {
        let before = Clock.now()
        while Clock.now() < before + .milliseconds(50) {}
        let id = loop.client.start(request, now: loop.now)
        loop.client.flush(now: loop.now)
        loop.run { loop.results[id] != nil }
        return loop.reply(id)
    }

    @Test("a reply that the server sent before the request is not taken for its reply")
    func earlyReply() throws {
        let stray = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        let first: Script = [.awaitRequest, HTTP1Tests.answer, .hold, .send(stray), .hang]
        try StubServer.with(scripts: [first, [.awaitRequest, HTTP1Tests.answer, .hang]]) { server in
            let request = try makeRequest(server)
            #expect(loop.reply(to: request)?.body == Array("hi".utf8))
            server.goOn()
            #expect(replyWithUnreadBytes(to: request)?.body == Array("hi".utf8) && server.acceptedConnections == 2)
        }
    }

    @Test("idle connections that have ended fail no request, however many")
    func endedWhileIdle() throws {
        let closing: Script = [.awaitRequest, HTTP1Tests.answer, .hold]
        try StubServer.with(scripts: [closing, closing, closing, [.awaitRequest, HTTP1Tests.answer, .hang]]) { server in
            let request = try makeRequest(server)
            let first = (0..<3).map { _ in loop.start(request) }
            loop.run { loop.results.count == first.count }
            for _ in first { server.goOn() }
            #expect(replyWithUnreadBytes(to: request)?.body == Array("hi".utf8) && server.acceptedConnections == 4)
            #expect(loop.client.connections.retried == 0)
        }
    }

    @Test("over TLS, only the end of TLS ends a reply without a length", arguments: [false, true])
    func endOverTLS(isCut: Bool) throws {
        let certificates = Certificates()
        var identity = certificates.make("one.example", for: "DNS:one.example")
        identity.speaksHTTP2 = false
        let script: Script =
            [.startTLS(identity), .awaitRequest, .send("HTTP/1.1 200 OK\r\n\r\nhi")] + (isCut ? [] : [.endTLS])
        try StubServer.with(script) { server in
            let result = loop.result(of: try makeRequest(server, certificates: certificates))
            switch result {
            case .success(let reply)?: #expect(reply.body == Array("hi".utf8) && !isCut)
            case .failure(let failure)?: #expect(failure == .reset && isCut)
            case nil: break
            }
            #expect(loop.client.connections.open == 0)
        }
    }

    @Test("a reply before the end of the request stands, and the connection is not used again")
    func earlyRefusal() throws {
        let refusal: Script = [.awaitRequest, .send("HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno"), .hold]
        try StubServer.with(scripts: [refusal, [.awaitRequest, HTTP1Tests.answer, .hang]]) { server in
            let large = HTTPRequest(method: .post, url: "/", body: [UInt8](repeating: 0, count: 32 << 20))
            let reply = loop.reply(to: try makeRequest(server).with(large))
            #expect(reply?.status == 413 && loop.client.connections.open == 0)
            server.goOn()
            #expect(loop.reply(to: try makeRequest(server))?.newConnections == 1)
        }
    }
}
