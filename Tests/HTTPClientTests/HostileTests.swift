// Hostile replies: each fails with the right error, within its bounds, and leaves no connection or descriptor behind.

import DNSWire
import Glibc
import HTTPClient
import Testing

@Suite struct HostileTests {
    private typealias Script = [StubServer.Step]

    /// The text "hi" as a gzip member with one stored block; its checksum comes from Python's zlib.crc32.
    private static let gzip: [UInt8] =
        [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + [1, 2, 0, 0xFD, 0xFF, 0x68, 0x69]
        + [0xAC, 0x2A, 0x93, 0xD8, 2, 0, 0, 0]

    private static func reply(_ headers: String, _ body: [UInt8]) -> Script {
        let head = "HTTP/1.1 200 OK\r\n\(headers)Content-Length: \(body.count)\r\n\r\n"
        return [.awaitRequest, .sendBytes(Array(head.utf8) + body)]
    }

    private static func repeating(_ head: String, _ part: String) -> Script {
        // One write holds many parts, for speed alone.
        let parts = String(repeating: part, count: max(1, 4096 / part.utf8.count))
        return [.awaitRequest, .send("HTTP/1.1 200 OK\r\n" + head), .sendForever(Array(parts.utf8))]
    }

    private func result(
        _ script: Script, certificates: Certificates? = nil, timeout: Duration = .seconds(15)
    ) throws -> Result<TransferReply, TransferFailure>? {
        let loop = PollLoop()
        var result: Result<TransferReply, TransferFailure>?
        try StubServer.with(script) { server in
            let endpoint = try #require(
                HTTPEndpoint(
                    scheme: certificates == nil ? .http : .https, host: "one.example", port: server.port,
                    address: "127.0.0.1", caFile: certificates?.caFile))
            result = loop.result(
                of: TransferRequest(HTTPRequest(url: "/"), to: endpoint, timeout: timeout, connectTimeout: timeout))
            #expect(loop.client.connections.open <= 1 && loop.client.transfersInFlight == 0)
            // The client may keep an idle connection until its time-out.
            loop.skip(endpoint.idleTimeout)
            #expect(loop.client.connections.open == 0 && loop.watchedDescriptors == 0)
            #expect(loop.client.nextDeadline == nil)
            loop.run { server.openConnections == 0 }
        }
        return result
    }

    private func failure(
        _ script: Script, certificates: Certificates? = nil, timeout: Duration = .seconds(15)
    ) throws -> TransferFailure? {
        guard case .failure(let failure) = try result(script, certificates: certificates, timeout: timeout) else {
            return nil
        }
        return failure
    }

    private static let withoutEnd: [[StubServer.Step]] = [
        repeating("Transfer-Encoding: chunked\r\n\r\n", "400\r\n" + String(repeating: "x", count: 1024) + "\r\n"),
        repeating("Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
        repeating("Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: trailer\r\n"),
        repeating("Transfer-Encoding: chunked\r\n\r\n1;", "extension"),
        repeating("\r\n", "x"),
        repeating("", "X: header\r\n"),
        repeating("X-Long: ", "x"),
        [.awaitRequest, .sendForever(Array("HTTP/1.1 103 Early\r\nX: a\r\n\r\n".utf8))],
    ]

    @Test("what has no end is oversized", arguments: withoutEnd)
    func endless(script: [StubServer.Step]) throws {
        #expect(try failure(script) == .oversized)
    }

    /// The test runs in a process of its own, because the other tests change the memory of this one.
    @Test("what has no end costs no memory beyond the bounds of a reply")
    func memory() async {
        await #expect(processExitsWith: .success) {
            let tests = HostileTests()
            let peak = {
                var usage = rusage()
                unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
                return usage.ru_maxrss
            }
            #expect(try tests.failure(HostileTests.withoutEnd[0]) == .oversized)
            let before = peak()
            for script in HostileTests.withoutEnd { #expect(try tests.failure(script) == .oversized) }
            for script in HostileTests.stalling { _ = try tests.failure(script, timeout: .milliseconds(150)) }
            // The limit is in KiB. The measured growth was at most 200, while up to a gigabyte per second was sent.
            exit(peak() - before < 4096 ? 0 : 1)
        }
    }

    @Test("10,000 headers are oversized")
    func manyHeaders() throws {
        let headers = (0..<10_000).map { "X-\($0): a\r\n" }.joined()
        #expect(try failure(HostileTests.reply(headers, [])) == .oversized)
    }

    private static let stalling: [[StubServer.Step]] = [
        [.awaitRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhi"), .hang],
        [.awaitRequest, .send("HTTP/1.1 200 OK\r\nX-Half: "), .hang],
        [.hang],
    ]

    @Test("what goes on without saying anything ends as timeout", arguments: stalling)
    func stalls(script: [StubServer.Step]) throws {
        #expect(try failure(script, timeout: .milliseconds(150)) == .timeout)
    }

    @Test("a reply that takes its time, byte by byte, is taken")
    func slow() throws {
        let bytes = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".utf8)
        let loop = PollLoop()
        try StubServer.with([.awaitRequest] + bytes.flatMap { [.hold, .sendBytes([$0])] }) { server in
            let endpoint = try #require(
                HTTPEndpoint(scheme: .http, host: "one.example", port: server.port, address: "127.0.0.1"))
            let id = loop.start(
                TransferRequest(
                    HTTPRequest(url: "/"), to: endpoint, timeout: .seconds(15), connectTimeout: .seconds(15)))
            for _ in bytes {
                let readings = loop.readings
                server.goOn()
                loop.run { loop.readings > readings }
            }
            loop.run { loop.results[id] != nil }
            #expect(loop.reply(id)?.body == Array("hi".utf8))
        }
    }

    @Test("gzip is decoded, whatever the case of its name, and an empty body is none")
    func wholeGzip() throws {
        for name in ["gzip", "GZip", "x-gzip"] {
            let reply = try result(HostileTests.reply("Content-Encoding: \(name)\r\n", HostileTests.gzip))
            #expect(try reply?.get().body == Array("hi".utf8))
        }
        for name in ["gzip", "identity", ""] {
            #expect(try result(HostileTests.reply("Content-Encoding: \(name)\r\n", []))?.get().body == [])
        }
    }

    @Test("gzip that is cut anywhere, or followed by anything, is garbage")
    func brokenGzip() throws {
        let whole = HostileTests.gzip
        let cut = (1..<whole.count).map { Array(whole.prefix($0)) }
        let wrongSum = whole.prefix(17) + [0] + whole.dropFirst(18)
        for body in cut + [whole + [0], whole + whole, Array("hi".utf8), Array(wrongSum)] {
            let failure = try failure(HostileTests.reply("Content-Encoding: gzip\r\n", body))
            #expect(failure == .garbage("broken gzip"), "\(body.count) bytes")
        }
    }

    @Test(
        "an encoding that was not offered is garbage",
        arguments: [
            "Content-Encoding: br", "Content-Encoding: deflate", "Content-Encoding: gzip, gzip",
            "Content-Encoding: gzip\r\nContent-Encoding: gzip", "Content-Encoding: rot13",
            "Transfer-Encoding: gzip",
        ])
    func unknownEncoding(header: String) throws {
        #expect(try failure(HostileTests.reply(header + "\r\n", HostileTests.gzip))?.kind == "garbage")
    }

    @Test("a TLS alert, and what is no TLS, instead of a handshake is tls")
    func noHandshake() throws {
        let certificates = Certificates()
        let alert: Script = [.awaitBytes(5), .sendBytes([21, 3, 3, 0, 2, 2, 40])]
        #expect(try failure(alert, certificates: certificates)?.kind == "tls")
        let plain: Script = [.awaitBytes(5), .send("HTTP/1.1 400 Bad Request\r\n\r\n")]
        #expect(try failure(plain, certificates: certificates)?.kind == "tls")
        #expect(try failure([.awaitBytes(5)], certificates: certificates)?.kind == "tls")
    }

    @Test("an expired certificate, and one for another name, is tls and says why")
    func wrongCertificates() throws {
        let certificates = Certificates()
        let expired: Script = [.startTLS(certificates.makeExpired("one.example")), .hang]
        guard case .tls(let reason) = try failure(expired, certificates: certificates) else {
            Issue.record("an expired certificate is no failure of TLS")
            return
        }
        #expect(reason.contains("expired"))
        let other: Script = [.startTLS(certificates.make("other", for: "DNS:two.example")), .hang]
        #expect(try failure(other, certificates: certificates)?.kind == "tls")
    }

    @Test("too many headers and too much of a body over HTTP/2 are oversized, and a flood of pings is a failure")
    func overHTTP2() throws {
        let certificates = Certificates()
        let identity = certificates.make("one.example", for: "DNS:one.example")
        let opening: Script = [
            .startTLS(identity), .sendBytes(HTTP2Frame.settings), .awaitFrame(.headers, stream: 1),
        ]
        let headers = opening + [.sendBytes(HTTP2Frame.headers(stream: 1, dates: 10_000)), .hang]
        #expect(try failure(headers, certificates: certificates) == .oversized)
        let data = HTTP2Frame.data(stream: 1, String(repeating: "x", count: 16_384), isEnd: false)
        let body = opening + [.sendBytes(HTTP2Frame.headers(stream: 1)), .sendForever(data)]
        #expect(try failure(body, certificates: certificates) == .oversized)
        let pings = opening + [.sendForever((0..<100).flatMap { _ in HTTP2Frame.ping })]
        #expect(try failure(pings, certificates: certificates, timeout: .milliseconds(300)) != nil)
    }

    @Test("a server that takes no connection, its backlog being full, acknowledges nothing")
    func fullBacklog() throws {
        let loop = PollLoop()
        try Sockets.withFullBacklog { port in
            let endpoint = try #require(
                HTTPEndpoint(scheme: .http, host: "one.example", port: port, address: "127.0.0.1"))
            let request = TransferRequest(
                HTTPRequest(url: "/"), to: endpoint, timeout: .seconds(15), connectTimeout: .milliseconds(100))
            #expect(loop.failure(of: request) == .unacknowledged)
            #expect(loop.client.connections.open == 0 && loop.watchedDescriptors == 0)
        }
    }
}
