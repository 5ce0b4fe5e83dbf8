// Connections without an acknowledgement: the client distinguishes a slow path from a slow server, and sends requests
// to another endpoint if there is one.

import DNSWire
import Glibc
import HTTPClient
import LinuxIO
import Testing

@Suite struct SilenceTests {
    private typealias Script = [StubServer.Step]

    private let loop = PollLoop()
    /// A delay that no test reaches by itself; a test moves the clock to it.
    private static let silence = Duration.seconds(20)
    private static let stall = Duration.seconds(40)

    private static func answer(_ body: String) -> StubServer.Step {
        .send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    private func endpoint(_ port: UInt16, _ scheme: HTTPEndpoint.Scheme = .http) throws -> HTTPEndpoint {
        try #require(HTTPEndpoint(scheme: scheme, host: "provider.example", port: port, address: "127.0.0.1"))
    }

    private func request(
        _ endpoint: HTTPEndpoint, body: [UInt8]? = nil, deadPath: Duration? = nil, notice: Duration? = nil,
        elsewhere: [HTTPEndpoint] = []
    ) -> TransferRequest {
        TransferRequest(
            HTTPRequest(
                method: body == nil ? .get : .post, url: "/", headers: HTTPHeaders([.init("Expect", "")]),
                body: body ?? []), to: endpoint, timeout: .seconds(90), connectTimeout: .seconds(90),
            stallTimeout: SilenceTests.stall, silenceTimeout: SilenceTests.silence, deadPathTimeout: deadPath,
            unacknowledgedAfter: notice, elsewhere: elsewhere)
    }

    private func text(_ id: TransferID) -> String? {
        loop.reply(id).map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test("what the other machine does not even acknowledge is sent once more early")
    func unacknowledged() throws {
        let scripts: [Script] = [
            [.awaitRequest, SilenceTests.answer("one"), .hold], [.awaitRequest, SilenceTests.answer("two"), .hang],
        ]
        try StubServer.with(scripts: scripts) { server in
            let endpoint = try endpoint(server.port)
            #expect(loop.reply(to: request(endpoint)) != nil)
            // The body is larger than the kernel's buffer for a server that reads nothing.
            let id = loop.start(request(endpoint, body: [UInt8](repeating: 0, count: 32 << 20)))
            loop.skip(SilenceTests.silence)
            loop.run { loop.results[id] != nil }
            #expect(text(id) == "two" && loop.reply(id)?.wasRetried == true)
            server.goOn()
        }
    }

    @Test("what the peer's kernel does not acknowledge within a usual round trip is sent once more")
    func unheard() throws {
        let scripts: [Script] = [
            [.awaitRequest, .vanish, SilenceTests.answer("one"), .hang],
            [.awaitRequest, SilenceTests.answer("two"), .hang],
        ]
        try StubServer.with(scripts: scripts) { server in
            let request = request(try endpoint(server.port))
            #expect(loop.reply(to: request) != nil)
            let id = loop.start(request)
            loop.run { !loop.isAcknowledged }
            loop.skip(.seconds(1))
            #expect(loop.client.connections.retried == 1)
            loop.run { loop.results[id] != nil }
            #expect(text(id) == "two" && loop.reply(id)?.wasRetried == true)
        }
    }

    @Test("a request that the peer's kernel acknowledges on neither of two connections is reported, and continues")
    func interruptedPath() throws {
        try retry(over: [.awaitRequest, .hang], dropsDials: true) { id in
            #expect(loop.client.takeUnacknowledged() == [id])
        }
    }

    @Test(
        "a request is not reported if the peer's kernel has accepted the second connection",
        arguments: [[.awaitRequest, .hang], [.vanish, .hang]] as [[StubServer.Step]])
    func workingPath(second: [StubServer.Step]) throws {
        try retry(over: second, dropsDials: false) { _ in
            #expect(loop.client.takeUnacknowledged().isEmpty)
        }
    }

    /// Sends a request over a dead connection, and waits until its retry is due to be reported.
    private func retry(over second: Script, dropsDials: Bool, _ check: (TransferID) -> Void) throws {
        let first: Script = [.awaitRequest, .vanish, SilenceTests.answer("one"), .hang]
        try StubServer.with(scripts: [first, second]) { server in
            let request = request(try endpoint(server.port), notice: .seconds(2))
            #expect(loop.reply(to: request) != nil)
            if dropsDials { server.dropDials() }
            let id = loop.start(request)
            loop.run { !loop.isAcknowledged }
            loop.skip(.seconds(1))
            #expect(loop.client.connections(to: request.endpoint).retried == 1)
            if !dropsDials { loop.run { server.acceptedConnections == 2 } }
            loop.skip(.seconds(1))
            check(id)
            #expect(loop.results[id] == nil && loop.client.transfersInFlight == 1)
            loop.skip(.seconds(2))
            #expect(loop.client.takeUnacknowledged().isEmpty)
            loop.client.cancel(id, now: loop.now)
        }
    }

    @Test("a server that has the request and is slow is asked once, and keeps its connection")
    func acknowledged() throws {
        let script: Script = [
            .awaitRequest, SilenceTests.answer("one"), .awaitRequest, .hold, SilenceTests.answer("late"), .hang,
        ]
        try StubServer.with(script) { server in
            for elsewhere in [[], [try endpoint(Sockets.closedPorts[0])]] {
                let request = request(try endpoint(server.port), elsewhere: elsewhere)
                #expect(loop.reply(to: request) != nil)
                let id = loop.start(request)
                loop.run { server.received.count % 2 == 0 && loop.isAcknowledged }
                loop.skip(SilenceTests.silence)
                loop.skip(SilenceTests.stall)
                server.goOn()
                loop.run { loop.results[id] != nil }
                #expect(
                    text(id) == "late" && loop.reply(id)?.wasRetried == false
                        && loop.client.takeAttemptFailures().isEmpty)
                loop.client.renewConnections(now: loop.now)
            }
            #expect(loop.client.connections == ConnectionCounts(opened: 2, reused: 2))
        }
    }

    @Test("where no connection comes about, the request goes elsewhere as well, and the first reply counts")
    func noConnection() throws {
        // The server accepts the connection and never sends a byte of TLS.
        try StubServer.with([.hang]) { silent in
            try StubServer.with([.awaitRequest, SilenceTests.answer("here"), .hang]) { other in
                let (first, second) = (try endpoint(silent.port, .https), try endpoint(other.port))
                let id = loop.start(request(first, elsewhere: [second]))
                loop.run { silent.acceptedConnections == 1 }
                loop.skip(SilenceTests.silence)
                loop.run { loop.results[id] != nil }
                #expect(text(id) == "here" && loop.answeredAt[id] == second)
                let attemptFailures = loop.client.takeAttemptFailures()
                #expect(attemptFailures.map(\.endpoint) == [first] && attemptFailures.map(\.failure) == [.timeout])
                #expect(loop.reached[id] == [second])
                #expect(attemptFailures.map(\.id) == [id] && loop.client.takeAttemptFailures().isEmpty)
                #expect(loop.client.transfersInFlight == 0)
                // The client no longer waits for its handshake there.
                loop.run { silent.openConnections == 0 }
            }
        }
    }

    @Test("without another place a connection that does not come about is waited for")
    func nowhereElse() throws {
        try StubServer.with([.hang]) { silent in
            let id = loop.start(request(try endpoint(silent.port, .https)))
            loop.run { silent.acceptedConnections == 1 }
            loop.skip(SilenceTests.stall)
            #expect(loop.client.transfersInFlight == 1 && silent.acceptedConnections == 1)
            #expect(loop.client.takeAttemptFailures().isEmpty)
            loop.client.cancel(id, now: loop.now)
        }
    }

    @Test("a half-dead connection leads elsewhere, and the next request there opens a new one")
    func halfDead() throws {
        let half: Script = [.awaitRequest, .vanish, SilenceTests.answer("one"), .hang]
        let scripts: [Script] = [half, [.awaitRequest, SilenceTests.answer("again"), .hang]]
        try StubServer.with(scripts: scripts) { server in
            try StubServer.with([.awaitRequest, SilenceTests.answer("two"), .hang]) { other in
                let (first, second) = (try endpoint(server.port), try endpoint(other.port))
                let request = request(first, elsewhere: [second])
                #expect(loop.reply(to: request) != nil)
                let id = loop.start(request)
                loop.run { !loop.isAcknowledged }
                loop.skip(.seconds(1))
                loop.run { loop.results[id] != nil }
                #expect(text(id) == "two" && loop.answeredAt[id] == second)
                let next = loop.start(request)
                loop.run { loop.results[next] != nil }
                #expect(text(next) == "again" && loop.answeredAt[next] == first)
                let attemptFailures = loop.client.takeAttemptFailures()
                #expect(
                    attemptFailures.map(\.endpoint) == [first] && attemptFailures.map(\.failure) == [.unacknowledged])
                #expect(loop.reached[id] == [second] && loop.reached[next] == [first])
            }
        }
    }

    @Test("a request that arrives late has reached its server, besides the one that answers", arguments: [true, false])
    func lateArrival(answers: Bool) throws {
        let late: Script = [
            .awaitRequest, .vanish, SilenceTests.answer("one"), .hold, .reappear, .awaitRequest, .hold,
            .send("SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        ]
        try StubServer.with(late) { server in
            try StubServer.with([.awaitRequest, .hold, SilenceTests.answer("two"), .hang]) { other in
                let (first, second) = (try endpoint(server.port), try endpoint(other.port))
                let request = request(first, elsewhere: [answers ? second : try endpoint(Sockets.closedPorts[0])])
                #expect(loop.reply(to: request) != nil)
                let id = loop.start(request)
                loop.run { !loop.isAcknowledged }
                loop.skip(.seconds(1))
                if answers { loop.run { other.received.count == 1 } }
                server.goOn()
                loop.run { server.received.count == 2 && loop.isAcknowledged }
                (answers ? other : server).goOn()
                loop.run { loop.results[id] != nil }
                #expect(text(id) == (answers ? "two" : nil))
                #expect(loop.reached[id].map(Set.init) == (answers ? [first, second] : [first]))
            }
        }
    }

    @Test(
        "where no kernel acknowledges anything, the path is dead, and a slow server is none", arguments: [true, false])
    func deadPath(isDead: Bool) throws {
        let half: Script = [.awaitRequest, isDead ? .vanish : .hold, SilenceTests.answer("one"), .awaitRequest, .hang]
        try Sockets.withFullBacklog { port in
            try StubServer.with(half) { server in
                if !isDead { server.goOn() }
                let (first, second) = (try endpoint(server.port), try endpoint(port))
                let request = request(first, deadPath: .seconds(30), elsewhere: isDead ? [second] : [])
                #expect(loop.reply(to: request) != nil)
                let id = loop.start(request)
                loop.run { isDead ? !loop.isAcknowledged : server.received.count == 2 && loop.isAcknowledged }
                loop.skip(.seconds(1))
                #expect(loop.results[id] == nil)
                loop.skip(.seconds(29))
                #expect(loop.failure(id) == (isDead ? .unacknowledged : nil))
                #expect(loop.reached[id] == (isDead ? [] : nil))
                #expect(loop.client.transfersInFlight == (isDead ? 0 : 1))
                loop.client.cancel(id, now: loop.now)
            }
        }
    }

    @Test("a dial without acknowledgement is repeated until the path counts as dead")
    func redial() throws {
        try Sockets.withFullBacklog { port in
            var request = request(try endpoint(port), deadPath: .seconds(30))
            request = request.with(connectTimeout: .milliseconds(50))
            let id = loop.start(request)
            loop.run { loop.client.connections.retried == 2 }
            #expect(loop.results[id] == nil)
            loop.skip(.seconds(30))
            #expect(loop.failure(id) == .unacknowledged && loop.client.connections.open == 0)
        }
    }

    @Test("a place that refuses costs no time, and when all refuse the last one is what failed")
    func refused() throws {
        try StubServer.with([.awaitRequest, SilenceTests.answer("third"), .hang]) { server in
            let closed = try Sockets.closedPorts.map { try endpoint($0) }
            let id = loop.start(request(closed[0], elsewhere: [closed[1], try endpoint(server.port)]))
            loop.run { loop.results[id] != nil }
            #expect(text(id) == "third")
            #expect(loop.client.takeAttemptFailures().map(\.endpoint) == closed)
            let failing = loop.start(request(closed[1], elsewhere: [closed[0]]))
            loop.run { loop.results[failing] != nil }
            #expect(loop.failure(failing) == .refused && loop.answeredAt[failing] == closed[0])
            #expect(loop.reached[id]?.count == 1 && loop.reached[failing]?.isEmpty == true)
            #expect(loop.client.takeAttemptFailures().map(\.endpoint) == [closed[1]])
            #expect(loop.client.transfersInFlight == 0)
        }
    }

    @Test("an answer that is no good is the answer, wherever else it could have been sent")
    func answered() throws {
        try StubServer.with([.awaitRequest, .send("SSH-2.0-OpenSSH_9.2\r\n\r\n")]) { server in
            let id = loop.start(request(try endpoint(server.port), elsewhere: [try endpoint(Sockets.closedPorts[0])]))
            loop.run { loop.results[id] != nil }
            #expect(loop.failure(id)?.kind == "garbage" && loop.client.takeAttemptFailures().isEmpty)
        }
    }

    @Test("a cancelled request has reached a server only if it was sent")
    func reached() throws {
        try StubServer.with([.awaitRequest, .hang]) { server in
            let endpoint = try endpoint(server.port)
            #expect(loop.client.cancel(loop.start(request(endpoint)), now: loop.now).isEmpty)
            let id = loop.start(request(endpoint))
            loop.run { server.received.count == 1 }
            #expect(loop.client.cancel(id, now: loop.now) == [endpoint])
            #expect(loop.client.cancel(id, now: loop.now).isEmpty)
        }
    }

    @Test("a request in two places is cancelled as one, and ends once when connections are renewed", arguments: [0, 1])
    func cancelled(_ way: Int) throws {
        try StubServer.with([.hang]) { silent in
            try StubServer.with([.hang]) { other in
                let second = try endpoint(other.port, .https)
                let id = loop.start(request(try endpoint(silent.port, .https), elsewhere: [second]))
                loop.skip(SilenceTests.silence)
                loop.run { other.acceptedConnections == 1 }
                let now = loop.now
                if way == 0 { loop.client.cancel(id, now: now) } else { loop.client.renewConnections(now: now) }
                loop.collect()
                #expect(loop.failure(id) == (way == 0 ? nil : .networkChanged))
                #expect(loop.client.transfersInFlight == 0 && loop.client.connections.open == 0)
                #expect(loop.watchedDescriptors == 0)
            }
        }
    }
}
