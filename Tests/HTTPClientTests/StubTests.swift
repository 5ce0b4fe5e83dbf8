// Servers that answer plainly, answer wrongly, or do not answer: a stub over HTTP.

import DNSWire
import HTTPClient
import LinuxIO
import Testing

@Suite struct StubTests {
    private let loop = PollLoop()

    private func makeRequest(
        _ port: UInt16, ipv6: Bool = false, method: HTTPRequest.Method = .get, target: String = "/",
        headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = [], timeout: Duration = .seconds(10)
    ) throws -> TransferRequest {
        let address = ipv6 ? "::1" : "127.0.0.1"
        let endpoint = try #require(
            HTTPEndpoint(scheme: .http, host: "provider.example", port: port, address: address))
        return TransferRequest(
            HTTPRequest(method: method, url: target, headers: headers, body: body), to: endpoint, timeout: timeout,
            connectTimeout: timeout)
    }

    private func failure(_ script: [StubServer.Step], timeout: Duration = .seconds(10)) throws -> TransferFailure? {
        var failure: TransferFailure?
        try StubServer.with(script) { server in
            failure = loop.failure(of: try makeRequest(server.port, timeout: timeout))
        }
        return failure
    }

    @Test("a GET is sent to the dialled address under the URL's host, and status, headers and body come back")
    func get() throws {
        let answer = "HTTP/1.1 404 No\r\nAge: 7 \r\nX-Empty:\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
        try StubServer.with([.awaitRequest, .send(answer)]) { server in
            let request = try makeRequest(
                server.port, target: "/d?dn=a.example", headers: HTTPHeaders([.init("X-One", "1")]))
            let reply = try #require(loop.reply(to: request))
            #expect(reply.status == 404 && reply.body == Array("hi".utf8) && reply.httpVersion == .http1)
            #expect(reply.header("age") == "7" && reply.header("X-EMPTY") == "" && reply.header("B") == nil)
            #expect(reply.newConnections == 1 && reply.totalTime > .zero)
            let sent = try #require(server.requests.first)
            #expect(sent.hasPrefix("GET /d?dn=a.example HTTP/1.1\r\nHost: provider.example:\(server.port)\r\n"))
            #expect(sent.contains("X-One: 1\r\n") && sent.contains("Accept-Encoding: gzip\r\n"))
            #expect(!sent.contains("Cookie") && !sent.contains("User-Agent"))
        }
    }

    @Test("a POST carries its body, zero bytes included, over IPv6")
    func post() throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        try StubServer.with(ipv6: true, [.awaitRequest, .send(answer)]) { server in
            let request = try makeRequest(
                server.port, ipv6: true, method: .post,
                headers: HTTPHeaders([
                    .init("Content-Type", "application/dns-message"), .init("Host", "other.example"),
                ]),
                body: [0, 1, 0, 65])
            #expect(loop.reply(to: request)?.body == [])
            let sent = try #require(server.requests.first)
            #expect(sent.hasPrefix("POST / HTTP/1.1\r\nHost: other.example\r\n"))
            #expect(sent.contains("Content-Type: application/dns-message\r\n"))
            #expect(sent.contains("Content-Length: 4\r\n") && sent.hasSuffix("\r\n\r\n\0\u{1}\0A"))
        }
    }

    @Test("headers of an interim reply and trailers do not pass for headers of the reply")
    func interimAndTrailer() throws {
        let answer =
            "HTTP/1.1 103 Early\r\nX-A: early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
            + "Connection: close\r\n\r\n1\r\nx\r\n0\r\nX-A: late\r\n\r\n"
        try StubServer.with([.awaitRequest, .send(answer)]) { server in
            let reply = try #require(loop.reply(to: try makeRequest(server.port)))
            #expect(reply.status == 200 && reply.header("X-A") == nil && reply.body == [0x78])
        }
    }

    @Test("HTTP/1.1 requests in a row share a connection, and one that the server closed is replaced unnoticed")
    func keepAlive() throws {
        let answer = StubServer.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        try StubServer.with([.awaitRequest, answer, .awaitRequest, answer]) { server in
            let request = try makeRequest(server.port)
            #expect([1, 0, 1].allSatisfy { loop.reply(to: request)?.newConnections == $0 })
            #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 2, reused: 1))
            #expect(server.requests.count == 3)
        }
    }

    @Test("an address without a route is unreachable")
    func unreachable() throws {
        let endpoint = try #require(
            HTTPEndpoint(scheme: .http, host: "provider.example", port: 80, address: "255.255.255.255"))
        let request = TransferRequest(
            HTTPRequest(url: "/"), to: endpoint, timeout: .seconds(10), connectTimeout: .seconds(10))
        #expect(loop.failure(of: request) == .unreachable)
    }

    @Test("a closed port is refused")
    func refused() throws {
        #expect(loop.failure(of: try makeRequest(Sockets.closedPorts[0])) == .refused)
        #expect(loop.client.connections.open == 0)
    }

    @Test("a server that never answers ends as timeout, and its connection is closed")
    func hang() throws {
        #expect(try failure([.awaitRequest, .hang], timeout: .milliseconds(80)) == .timeout)
        #expect(loop.watchedDescriptors == 0 && loop.client.connections.open == 0)
    }

    @Test("handshakes that hang end as timeout one after the other, and no descriptor is watched for another")
    func hangingHandshakes() throws {
        try StubServer.with([.hang]) { server in
            let endpoint = try #require(
                HTTPEndpoint(scheme: .https, host: "provider.example", port: server.port, address: "127.0.0.1"))
            let ids = (0..<40).map { number in
                let timeout = Duration.milliseconds(30 + 2 * (number % 20))
                return loop.start(
                    TransferRequest(HTTPRequest(url: "/"), to: endpoint, timeout: timeout, connectTimeout: timeout))
            }
            loop.run { loop.results.count == ids.count }
            // A request that waited for a connection until its end has no acknowledgement.
            #expect(ids.compactMap(loop.failure).filter { $0 == .timeout || $0 == .unacknowledged }.count == ids.count)
            #expect(ids.contains { loop.failure($0) == .timeout })
            #expect(loop.watchedDescriptors == 0 && loop.client.connections.open == 0)
        }
    }

    @Test(
        "a reply that ends early is reset",
        arguments: [
            [.awaitRequest],
            [.awaitRequest, .reset],
            [.awaitRequest, .send("HTTP/1.1 200 OK\r\nContent-Len")],
            [.awaitRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort")],
            [.awaitRequest, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nsh")],
        ] as [[StubServer.Step]])
    func cut(script: [StubServer.Step]) throws {
        #expect(try failure(script) == .reset)
    }

    @Test(
        "what is no HTTP, or breaks its encoding, is garbage",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnot hex\r\n",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
            "HTTP/1.1 200 OK\r\nContent-Encoding: rot13\r\nContent-Length: 4\r\n\r\nnope",
            "HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nnope",
        ])
    func garbage(answer: String) throws {
        #expect(try failure([.awaitRequest, .send(answer)])?.kind == "garbage")
    }

    @Test(
        "a reply over a bound is oversized, announced or not",
        arguments: [
            "Content-Length: 65537\r\n\r\n",
            "\r\n" + String(repeating: "x", count: 65_537),
            (0...64).map { "X-\($0): a\r\n" }.joined() + "\r\n",
            "X-Long: " + String(repeating: "x", count: 16_384) + "\r\n\r\n",
        ])
    func oversized(rest: String) throws {
        #expect(try failure([.awaitRequest, .send("HTTP/1.1 200 OK\r\n" + rest)]) == .oversized)
    }

    @Test("a reply at the bounds is taken")
    func atTheBounds() throws {
        let headers = (0..<62).map { "X-\($0): a\r\n" }.joined()
        let answer =
            "HTTP/1.1 200 OK\r\nContent-Length: 65536\r\nConnection: close\r\n\(headers)\r\n"
            + String(repeating: "x", count: 65_536)
        try StubServer.with([.awaitRequest, .send(answer)]) { server in
            let reply = try #require(loop.reply(to: try makeRequest(server.port)))
            #expect(reply.body.count == 65_536 && reply.headers.count == 64)
        }
    }

    @Test("a request that would smuggle a line is refused before it is sent")
    func smuggling() throws {
        for (name, value) in [("X", "a\r\nY: b"), ("X\n", "a"), ("X:", "a"), ("", "a"), ("X", "a\0")] {
            let request = try makeRequest(1, headers: HTTPHeaders([.init(name, value)]))
            #expect(loop.failure(of: request) == .badRequest)
        }
        for target in ["", "x", "/a b", "/a\r\nX: y", "/\u{e9}"] {
            #expect(loop.failure(of: try makeRequest(1, target: target)) == .badRequest)
        }
        #expect(loop.client.connections == ConnectionCounts())
    }

    @Test("a cancelled transfer gives no result and leaves no connection")
    func cancel() throws {
        try StubServer.with([.awaitRequest, .hang]) { server in
            let id = loop.start(try makeRequest(server.port))
            loop.run { !server.requests.isEmpty }
            loop.client.cancel(id, now: Clock.now())
            #expect(loop.client.takeFinished().isEmpty && loop.client.transfersInFlight == 0)
            #expect(loop.watchedDescriptors == 0 && loop.client.connections.open == 0)
            loop.client.cancel(id, now: Clock.now())
        }
    }

    @Test("of 1,100 requests at once those over the bound end as busy, the others stay in flight")
    func bounded() throws {
        try StubServer.with([.hang]) { server in
            let request = try makeRequest(server.port)
            let ids = (0..<1100).map { _ in loop.start(request) }
            let busy = ids.filter { if case .failure(.busy) = loop.results[$0] { true } else { false } }
            #expect(busy == Array(ids.dropFirst(HTTPClient.maxTransfers)))
            #expect(loop.client.transfersInFlight == HTTPClient.maxTransfers)
            #expect(loop.client.connections.open == 32)
            loop.client.renewConnections(now: Clock.now())
            loop.collect()
            let ended = ids.filter { if case .failure(.networkChanged) = loop.results[$0] { true } else { false } }
            #expect(ended.count == HTTPClient.maxTransfers && loop.results.count == 1100)
            #expect(loop.client.connections.open == 0)
            #expect(loop.watchedDescriptors == 0)
        }
    }

    @Test(
        "an endpoint is dialled by address only",
        arguments: ["provider.example", "", "127.1", "1.2.3.4\0", "[::1]", "fe80::1%lo", "127.0.0.1:80"])
    func addressOnly(address: String) {
        #expect(HTTPEndpoint(scheme: .http, host: "a.example", port: 80, address: address) == nil)
    }

    @Test("an endpoint with a part that is empty or out of place does not exist")
    func parts() {
        let endpoint = { (host: String, verifyName: String?, hostHeader: String?, caFile: String?) in
            HTTPEndpoint(
                scheme: .https, host: host, port: 443, address: "::1", verifyName: verifyName, hostHeader: hostHeader,
                caFile: caFile)
        }
        #expect(endpoint("a.example", "b.example", "c.example:8", "/ca.pem") != nil)
        #expect(endpoint("2001:db8::1", "2001:db8::2", nil, nil) != nil)
        #expect(endpoint("", nil, nil, nil) == nil && endpoint("a/b", nil, nil, nil) == nil)
        #expect(endpoint("a", "", nil, nil) == nil && endpoint("a", "b\0", nil, nil) == nil)
        #expect(endpoint("a", nil, "", nil) == nil && endpoint("a", nil, "b\r\nX: y", nil) == nil)
        #expect(endpoint("a", nil, nil, "") == nil && endpoint("a", nil, nil, "/ca\0") == nil)
        for idleSeconds in [-1, 0, 601] {
            #expect(HTTPEndpoint(scheme: .http, host: "a", port: 80, address: "::1", idleSeconds: idleSeconds) == nil)
        }
        for cap in [-1, 0] {
            let endpoint = HTTPEndpoint(
                scheme: .http, host: "a", port: 80, address: "::1", maxRequestsPerConnection: cap)
            #expect(endpoint == nil)
        }
    }
}
