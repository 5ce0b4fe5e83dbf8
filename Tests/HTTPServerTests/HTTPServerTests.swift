// The server over socket pairs with a given time: its replies, and the time-out of an incomplete request.

import DNSWire
import Glibc
import HTTPServer
import TestSupport
import Testing

@Suite("HTTP server")
struct HTTPServerTests {
    private let start = Instant.testStart
    private let request = Array("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)

    @Test("a request is answered and its connection closed")
    func whole() throws {
        let server = try HTTPServer { _ in .metrics("x 1\n") }
        let client = try Client(of: server, now: start)
        client.send(request)
        let reply = client.rest { server.run(now: start) }
        #expect(reply?.hasPrefix("HTTP/1.1 200 OK\r\n") == true)
        #expect(reply?.hasSuffix("\r\n\r\nx 1\n") == true)
        #expect(server.requests == 1 && server.cut == 0)
    }

    @Test("the request tells what the page needs of the query string, and where the client is")
    func parts() throws {
        var seen: [PageRequest] = []
        let server = try HTTPServer { request in
            seen.append(request)
            return .metrics("x 1\n")
        }
        for address in [
            Address.v4(0x7F00_0009), .v4(0xC000_0201), .v6(high: 0, low: 1), .v6(high: 0x2001_0DB8 << 32, low: 1),
        ] {
            let client = try Client(of: server, from: address, now: start)
            let path = "/explain?x=1&name=a%26b+c&type=AAAA&name=other"
            client.send(Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\n\r\n".utf8))
            #expect(client.rest { server.run(now: start) }?.contains(" 200 ") == true)
        }
        #expect(seen.map(\.isFromThisMachine) == [true, false, true, false])
        let expected = PageRequest(
            method: "GET", path: "/explain", host: "localhost", fetchSite: "none", isFromThisMachine: true,
            arguments: [.name: "a&b c", .type: "AAAA"])
        #expect(seen.first == expected)
    }

    @Test(
        "an encoded NUL byte and bytes that are not UTF-8 are refused, and end no text too early",
        arguments: [
            "GET /metrics%00x HTTP/1.1\r\nHost: localhost",
            "GET /explain?name=a%00.example HTTP/1.1\r\nHost: localhost",
            "GET /explain?name=%FF HTTP/1.1\r\nHost: localhost", "GET /%C3 HTTP/1.1\r\nHost: localhost",
        ])
    func zeroBytes(request: String) throws {
        var seen = 0
        let server = try HTTPServer { _ in
            seen += 1
            return .metrics("x 1\n")
        }
        let client = try Client(of: server, now: start)
        client.send(Array("\(request)\r\n\r\n".utf8))
        #expect(client.rest { server.run(now: start) }?.hasPrefix("HTTP/1.1 400 ") == true)
        #expect(seen == 0)
    }

    @Test("half a request has ten seconds, and a byte now and then buys no more")
    func half() throws {
        let server = try HTTPServer { _ in .metrics("x 1\n") }
        let silent = try Client(of: server, now: start)
        let dripping = try Client(of: server, now: start)
        silent.send(Array(request.prefix(12)))
        for (second, byte) in request.prefix(10).enumerated() {
            dripping.send([byte])
            server.run(now: start + .seconds(second))
        }
        server.run(now: start + .milliseconds(9999))
        #expect(!silent.isClosed && !dripping.isClosed && server.cut == 0)
        #expect(server.nextDeadline(now: start + .milliseconds(9999)).map { $0 <= start + .seconds(10) } == true)
        let ten = start + .seconds(10)
        #expect(silent.rest { server.run(now: ten) }?.contains(" 200 ") == false)
        #expect(dripping.rest { server.run(now: ten) }?.contains(" 200 ") == false)
        #expect(server.cut == 2 && server.requests == 0)
        // The places of the closed connections are free again.
        let next = try Client(of: server, now: ten)
        next.send(request)
        #expect(next.rest { server.run(now: ten) }?.contains(" 200 ") == true)
    }
}

/// The client's end of one connection to the server.
private final class Client {
    private let descriptor: Int32
    private static let maxTurns = 1000

    init(of server: HTTPServer, from address: Address = .v4(0x7F00_0001), now: Instant) throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        try #require(unsafe socketpair(AF_UNIX, type, 0, &ends) == 0)
        descriptor = ends[0]
        server.add(ends[1], from: PageClient(address, userID: nil, isTrusted: false), now: now)
        close(ends[1])
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
        #expect(unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }

    var isClosed: Bool {
        var byte: UInt8 = 0
        return unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK)) == 0
    }

    /// All bytes up to the end of the connection; nil if it does not end.
    func rest(turn: () -> Void) -> String? {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        for _ in 0..<Client.maxTurns {
            turn()
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 { return String(decoding: received, as: UTF8.self) }
            if count > 0 { received += buffer.prefix(count) }
        }
        return nil
    }
}
