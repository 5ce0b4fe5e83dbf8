// The lab over HTTP on loopback: the bytes that clients see for each of its faults.

import DNSWire
import Glibc
import HTTPDNS
import Testing
import httpdns_lab

/// The lab's faults on the wire, over loopback.
struct LabListenerTests {
    private static let rightBody = Array("192.0.2.1;192.0.2.2,300".utf8)

    private func loopback(_ port: UInt16 = 0) throws -> SocketAddress {
        try #require(SocketAddress("127.0.0.1:\(port)"))
    }

    /// The reply to one GET while this fault is active.
    private func reply(under command: String, to target: String = "/d?dn=www.example") throws -> RawClient {
        let lab = Lab(try ZoneParser.zone(from: ZoneTests.text, file: "test.zone"))
        let set = ControlPaths(lab).respond(to: HTTPRequest(method: .post, url: "/fault?kind=\(command)"))
        try #require(set.status == 200)
        let context = ListenerContext(respond: { lab.respond(to: $0) }, generation: { lab.resets })
        let listener = try HTTPListener(
            on: try loopback(), credentials: nil, context: context)
        return try RawClient.get(target, port: listener.port)
    }

    @Test("without a fault, the dialect's bytes")
    func right() throws {
        let reply = try reply(under: "none")
        #expect(reply.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(reply.body == LabListenerTests.rightBody && reply.failure == 0)
    }

    @Test("escapes in a query reach the dialect as they came")
    func escapes() throws {
        #expect(try reply(under: "none", to: "/d?ttl=1&dn=w%77w%2Eexample").body == LabListenerTests.rightBody)
        #expect(try reply(under: "none", to: "/d?dn=%zz").head.hasPrefix("HTTP/1.1 400 "))
    }

    @Test("a delay ends in the right reply")
    func delay() throws {
        #expect(try reply(under: "delay&value=20").body == LabListenerTests.rightBody)
    }

    @Test("a status comes with its Retry-After")
    func status() throws {
        let reply = try reply(under: "status&value=429&retry-after=7")
        #expect(reply.head.hasPrefix("HTTP/1.1 429 ") && reply.head.contains("Retry-After: 7\r\n"))
    }

    @Test("a reset is RST and not one byte")
    func reset() throws {
        let reply = try reply(under: "reset")
        #expect(reply.failure == ECONNRESET && reply.bytes.isEmpty)
    }

    @Test("a short body ends before its announced length, a long one behind it")
    func lengths() throws {
        let short = try reply(under: "short")
        #expect(short.body == LabListenerTests.rightBody && short.announcedBytes == 123)
        let long = try reply(under: "long")
        #expect(long.body == LabListenerTests.rightBody && long.announcedBytes == 20)
        #expect(!long.head.contains("chunked"))
    }

    @Test("empty, huge and garbage bodies come with status 200")
    func bodies() throws {
        #expect(try reply(under: "empty").announcedBytes == 0)
        #expect(try reply(under: "huge").body.count == 204_800)
        let garbage = try reply(under: "garbage").body
        #expect(garbage.count == 256)
        #expect(try reply(under: "garbage").body == garbage)
    }

    @Test("a drip is the right reply in the end")
    func drip() throws {
        #expect(try reply(under: "drip", to: "/d?dn=x.any.example").body == Array("192.0.2.9,300".utf8))
    }

    @Test("an early end comes behind the headers, a redirect leads away, chunks go on without end")
    func otherEnds() throws {
        let early = try reply(under: "early")
        #expect(early.head.hasPrefix("HTTP/1.1 200 ") && early.body.isEmpty && early.announcedBytes == 100)
        let redirect = try reply(under: "redirect")
        #expect(redirect.head.hasPrefix("HTTP/1.1 302 ") && redirect.head.contains("Location: /moved\r\n"))
        let endless = try reply(under: "endless-chunks")
        #expect(endless.head.contains("Transfer-Encoding: chunked\r\n") && endless.bytes.count >= 1 << 20)
    }

    @Test("compressed bodies: one that is a bomb, and one whose end is missing though its length is right")
    func compressed() throws {
        let bomb = try reply(under: "gzip-bomb")
        #expect(bomb.head.contains("Content-Encoding: gzip\r\n") && bomb.body.count < 64 << 10)
        let cut = try reply(under: "truncated-gzip")
        #expect(cut.announcedBytes == cut.body.count)
        // The text follows the gzip header of 10 bytes and the block header of 5.
        #expect(String(decoding: cut.body.dropFirst(15), as: UTF8.self) == "192.0.2.1;192.0")
    }

    @Test("the date is the lab's, which a fault sets ahead")
    func date() throws {
        #expect(try reply(under: "none").head.contains("Date: Mon, 18 Aug 2025 13:54:10 GMT\r\n"))
        let ahead = try reply(under: "clock&value=7200").head
        #expect(ahead.contains("Date: Mon, 18 Aug 2025 15:54:10 GMT\r\n"))
        #expect(ahead.components(of: "Date: ") == 1)
    }

    @Test("a reset lets a hanging request go without an answer", arguments: ["hang", "hang-long-connection&value=1"])
    func hang(command: String) throws {
        let reply = try replyUntilReset(command)
        #expect(reply.bytes.isEmpty && reply.failure == 0)
    }

    @Test("a stalled reply has come by half")
    func stall() throws {
        let reply = try replyUntilReset("stall")
        #expect(reply.body == Array("192.0.2.1;1".utf8) && reply.announcedBytes == 23)
    }

    @Test("the first requests of a connection are answered before it hangs")
    func longConnection() throws {
        #expect(try reply(under: "hang-long-connection&value=2").body == LabListenerTests.rightBody)
    }

    private func replyUntilReset(_ command: String) throws -> RawClient {
        let lab = Lab(try ZoneParser.zone(from: ZoneTests.text, file: "test.zone"))
        let control = ControlPaths(lab)
        _ = control.respond(to: HTTPRequest(method: .post, url: "/fault?kind=\(command)"))
        // The handler itself resets the connection, so that the reset comes while the request runs.
        let context = ListenerContext(
            respond: { lab.respond(to: $0) },
            generation: {
                let generation = lab.resets
                lab.reset()
                return generation
            })
        let listener = try HTTPListener(
            on: try loopback(), credentials: nil, context: context)
        return try RawClient.get("/d?dn=www.example", port: listener.port)
    }

    @Test("a port in use is an error with its number")
    func portInUse() throws {
        let context = ListenerContext(respond: { _ in (HTTPReply(), nil) }, generation: { 0 })
        let first = try HTTPListener(on: try loopback(), credentials: nil, context: context)
        let same = try loopback(first.port)
        do throws(ListenError) {
            _ = try HTTPListener(on: same, credentials: nil, context: context)
            Issue.record("the port was taken twice")
        } catch {
            #expect(error.errno == EADDRINUSE)
        }
        #expect(first.port != 0)
    }
}

extension String {
    fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
