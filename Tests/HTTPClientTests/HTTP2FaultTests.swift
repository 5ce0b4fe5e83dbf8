// Servers that end connections at the wrong moment, allow few streams, refuse their own offers, or do not answer.

import DNSWire
import Glibc
import HTTPClient
import LinuxIO
import Testing

@Suite struct HTTP2FaultTests {
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

    private func opening(_ identity: TLSIdentity, settings: [UInt8] = HTTP2Frame.settings) -> Script {
        [.startTLS(identity), .sendBytes(settings)]
    }

    private func reply(_ stream: UInt32, _ text: String) -> [UInt8] {
        HTTP2Frame.headers(stream: stream) + HTTP2Frame.data(stream: stream, text)
    }

    private func answer(_ stream: UInt32, _ text: String) -> Script {
        [.awaitFrame(.headers, stream: stream), .sendBytes(reply(stream, text))]
    }

    private func text(_ reply: TransferReply?) -> String? {
        reply.map { String(decoding: $0.body, as: UTF8.self) }
    }

    /// Waits for the condition without running the client's loop.
    private func wait(until isSo: () -> Bool) {
        let end = Clock.now().advanced(by: PollLoop.patience)
        while !isSo(), Clock.now() < end { usleep(1000) }
        #expect(isSo())
    }

    @Test("a request that is started while the server closes its idle connection is answered over another")
    func closedAtReuse() throws {
        let scripts = [opening(identity) + answer(1, "one"), opening(identity) + answer(1, "two") + [.hang]]
        try StubServer.with(scripts: scripts) { server in
            let request = try makeRequest(server)
            #expect(text(loop.reply(to: request)) == "one")
            wait { server.openConnections == 0 }
            #expect(text(loop.reply(to: request)) == "two")
            #expect(server.acceptedConnections == 2 && loop.client.connections.open == 1)
        }
    }

    @Test("a reply that arrived before the connection broke is read, although a later request cannot be written")
    func replyBeforeReset() throws {
        let first = opening(identity) + answer(1, "one") + answer(3, "two") + [.reset]
        try StubServer.with(scripts: [first, opening(identity) + answer(1, "three") + [.hang]]) { server in
            let request = try makeRequest(server)
            #expect(text(loop.reply(to: request)) == "one")
            let second = loop.start(request)
            loop.client.flush(now: loop.now)
            wait { server.openConnections == 0 }
            let third = loop.start(request)
            loop.client.flush(now: loop.now)
            loop.run { [second, third].allSatisfy { loop.results[$0] != nil } }
            #expect(text(loop.reply(second)) == "two" && text(loop.reply(third)) == "three")
            #expect(loop.reply(second)?.wasRetried == false)
        }
    }

    @Test("a server that closes each connection after the handshake gets no third one for a request")
    func closedAfterHandshake() throws {
        try StubServer.with([.startTLS(identity)]) { server in
            let request = try makeRequest(server)
            #expect(loop.failure(of: request) == .reset)
            #expect(server.acceptedConnections <= 2)
        }
    }

    @Test("requests above a server's stream limit use other connections, which begin with that limit")
    func lowStreamLimit() throws {
        let limited = HTTP2Frame.settings(HTTP2Frame.maxConcurrentStreams, 2)
        let refused = [5, 7, 9, 11].flatMap { HTTP2Frame.reset(stream: $0, HTTP2Frame.refusedStream) }
        let first: Script =
            opening(identity, settings: limited) + [.awaitFrame(.headers, stream: 11), .sendBytes(refused)]
            + [.hold, .sendBytes(reply(1, "a") + reply(3, "a")), .hang]
        let later: Script =
            opening(identity, settings: limited) + [.awaitFrame(.headers, stream: 3)]
            + [.sendBytes(reply(1, "a") + reply(3, "a")), .hang]
        try StubServer.with(scripts: [first, later]) { server in
            let request = try makeRequest(server)
            let ids = (0..<6).map { _ in loop.start(request) }
            loop.run { ids.count(where: { loop.results[$0] != nil }) == 4 }
            server.goOn()
            loop.run { ids.allSatisfy { loop.results[$0] != nil } }
            #expect(ids.allSatisfy { text(loop.reply($0)) == "a" })
            #expect(server.acceptedConnections == 3)
        }
    }

    @Test("a request that waits for a stream leaves a connection that takes no more, although its streams hang")
    func waitingAtGoAway() throws {
        let limited = opening(identity, settings: HTTP2Frame.settings(HTTP2Frame.maxConcurrentStreams, 1))
        let first = limited + answer(1, "one") + [.awaitFrame(.headers, stream: 3), .hang]
        let hanging = limited + [.awaitFrame(.headers, stream: 1), .hang]
        let leaving =
            limited + [
                .awaitFrame(.headers, stream: 1), .hold, .sendBytes(HTTP2Frame.goAway(lastStream: 1)), .hang,
            ]
        let scripts = [first] + Array(repeating: hanging, count: 6) + [leaving, limited + answer(1, "two") + [.hang]]
        try StubServer.with(scripts: scripts) { server in
            let request = try makeRequest(server)
            #expect(text(loop.reply(to: request)) == "one")
            let ids = (0..<8).map { number in
                let id = loop.start(request)
                loop.run { server.received.count == 2 + number }
                return id
            }
            let waiting = loop.start(request)
            server.goOn()
            loop.run { loop.results[waiting] != nil }
            #expect(text(loop.reply(waiting)) == "two" && ids.allSatisfy { loop.results[$0] == nil })
            for id in ids { loop.client.cancel(id, now: loop.now) }
        }
    }

    @Test("a server that takes one request on each connection, and is slow, answers more than eight")
    func manyDraining() throws {
        let scripts = (0..<12).map { number -> Script in
            let last = UInt32(2 * (11 - number) + 1)
            return opening(identity) + [
                .awaitFrame(.headers, stream: last), .sendBytes(HTTP2Frame.goAway(lastStream: 1)), .hold,
                .sendBytes(reply(1, "one")), .hang,
            ]
        }
        try StubServer.with(scripts: scripts) { server in
            let request = try makeRequest(server)
            let ids = (0..<12).map { _ in loop.start(request) }
            loop.run { server.received.count == 12 || ids.contains { loop.results[$0] != nil } }
            for _ in ids { server.goOn() }
            loop.run { ids.allSatisfy { loop.results[$0] != nil } }
            #expect(ids.allSatisfy { text(loop.reply($0)) == "one" })
            #expect(server.acceptedConnections == 12)
        }
    }

    @Test("a server that calls one request processed and refuses it all the same is not asked without end")
    func processedAndRefused() throws {
        let script: Script =
            opening(identity) + [
                .awaitFrame(.headers, stream: 1),
                .sendBytes(
                    HTTP2Frame.goAway(lastStream: 1) + HTTP2Frame.reset(stream: 1, HTTP2Frame.refusedStream)),
                .hang,
            ]
        try StubServer.with(script) { server in
            let request = try makeRequest(server)
            #expect(loop.failure(of: request) == .reset)
            #expect(server.acceptedConnections == 2)
        }
    }

    @Test("a connection that answers no PING while a request is stuck is left, whatever the request is about")
    func unansweredPing() throws {
        let hanging =
            opening(identity) + answer(1, "one") + [
                .awaitFrame(.headers, stream: 3), .awaitFrame(.ping, stream: 0), .hang,
            ]
        try StubServer.with(scripts: [hanging, opening(identity) + answer(1, "two") + [.hang]]) { server in
            let request = try makeRequest(server, stallTimeout: .seconds(30))
            #expect(text(loop.reply(to: request)) == "one")
            let id = loop.start(request)
            loop.run { server.received.count == 2 && loop.isAcknowledged }
            loop.skip(.seconds(15))
            loop.run { server.received.count == 3 && loop.isAcknowledged }
            #expect(loop.client.connections.retried == 0)
            loop.skip(.seconds(15))
            loop.run { loop.results[id] != nil }
            #expect(text(loop.reply(id)) == "two" && loop.reply(id)?.wasRetried == true)
        }
    }

    @Test("a connection that answers PING keeps its slow request")
    func answeredPing() throws {
        let slow =
            opening(identity) + answer(1, "one") + [
                .awaitFrame(.headers, stream: 3), .awaitFrame(.ping, stream: 0), .sendBytes(HTTP2Frame.pong), .hold,
                .sendBytes(reply(3, "late")), .hang,
            ]
        try StubServer.with(slow) { server in
            let request = try makeRequest(server, stallTimeout: .seconds(30))
            #expect(text(loop.reply(to: request)) == "one")
            let id = loop.start(request)
            loop.run { server.received.count == 2 && loop.isAcknowledged }
            let readings = loop.readings
            loop.skip(.seconds(15))
            loop.run { loop.readings > readings }
            loop.skip(.seconds(15))
            #expect(loop.client.connections.retried == 0)
            server.goOn()
            loop.run { loop.results[id] != nil }
            #expect(text(loop.reply(id)) == "late" && server.acceptedConnections == 1)
        }
    }

    @Test("a connection that lets no request out until its time gets no further request", arguments: [false, true])
    func heldBack(byStreamLimit: Bool) throws {
        let name = byStreamLimit ? HTTP2Frame.maxConcurrentStreams : HTTP2Frame.initialWindowSize
        let closed =
            opening(identity) + [
                .awaitFrame(.headers, stream: 1), .sendBytes(HTTP2Frame.settings(name, 0) + reply(1, "one")), .hang,
            ]
        try StubServer.with(scripts: [closed, opening(identity) + answer(1, "two") + [.hang]]) { server in
            var request = try makeRequest(server, stallTimeout: .seconds(30))
            #expect(text(loop.reply(to: request)) == "one")
            request = request.with(HTTPRequest(method: .post, url: "/", body: [1, 2, 3]))
            let id = loop.start(request)
            loop.skip(.seconds(30))
            loop.client.cancel(id, hasTimedOut: true, now: loop.now)
            #expect(text(loop.reply(to: request)) == "two")
        }
    }

    // MARK: TLS

    @Test("a session does not stand for a certificate that the server no longer has")
    func certificateChanged() throws {
        let other = certificates.make("two.example", for: "DNS:two.example")
        let scripts = [opening(identity) + answer(1, "one"), opening(other) + answer(1, "two") + [.hang]]
        try StubServer.with(scripts: scripts) { server in
            let request = try makeRequest(server)
            #expect(text(loop.reply(to: request)) == "one")
            loop.run { loop.client.connections.open == 0 }
            #expect(loop.failure(of: request)?.kind == "tls")
        }
    }

    @Test("a server that gives up at the offer of a session is asked without one", arguments: [false, true])
    func refusedOffer(withReset: Bool) throws {
        let giveUp: Script = [.awaitBytes(1)] + (withReset ? [.reset] : [])
        let scripts = [opening(identity) + answer(1, "one"), giveUp, opening(identity) + answer(1, "two") + [.hang]]
        try StubServer.with(scripts: scripts) { server in
            let request = try makeRequest(server)
            #expect(text(loop.reply(to: request)) == "one")
            loop.run { loop.client.connections.open == 0 }
            #expect(text(loop.reply(to: request)) == "two")
            #expect(server.acceptedConnections == 3)
        }
    }

    @Test("a server that gave up at an offer gets none after an idle time either")
    func noOfferAfterIdleTime() throws {
        let giveUp: Script = [.awaitBytes(1)]
        let answers = ["two", "three"].map { opening(identity) + answer(1, $0) + [.hang] }
        let scripts = [opening(identity) + answer(1, "one"), giveUp] + answers + [giveUp]
        try StubServer.with(scripts: scripts) { server in
            let request = try makeRequest(server)
            #expect(text(loop.reply(to: request)) == "one")
            loop.run { loop.client.connections.open == 0 }
            for expected in ["two", "three"] {
                #expect(text(loop.reply(to: request)) == expected)
                loop.skip(.seconds(HTTPEndpoint.defaultIdleSeconds + 1))
                #expect(loop.client.connections.open == 0)
            }
            #expect(loop.failure(of: request)?.kind == "tls", "after an offer, the request would be repeated")
        }
    }

    @Test("a server that gives up at a handshake without an offer is not asked again")
    func refusedHandshake() throws {
        try StubServer.with([.awaitBytes(1)]) { server in
            let request = try makeRequest(server)
            #expect(loop.failure(of: request)?.kind == "tls")
            #expect(server.acceptedConnections == 1)
        }
    }

    @Test("a server that accepts the connection and says nothing ends the request at its time")
    func silentHandshake() throws {
        try StubServer.with([.awaitBytes(1), .hang]) { server in
            let id = loop.start(try makeRequest(server))
            loop.run { server.received.count == 1 }
            loop.skip(.seconds(15))
            #expect(loop.failure(id) == .timeout && loop.client.connections.open == 0)
        }
    }

    @Test("a reply in records of one byte is whole")
    func tinyRecords() throws {
        let bytes = HTTP2Frame.settings + reply(1, "one")
        let script: Script =
            [.startTLS(identity), .awaitFrame(.headers, stream: 1)] + bytes.map { .sendBytes([$0]) } + [.hang]
        try StubServer.with(script) { server in
            let request = try makeRequest(server)
            #expect(text(loop.reply(to: request)) == "one")
        }
    }
}
