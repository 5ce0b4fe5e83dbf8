// The request that a probe sends, and its parsing of the reply.

import Testing

@testable import Daemon

struct ProbeRequestTests {
    @Test("a HEAD names the host, and the port where it is not the usual one")
    func bytes() {
        #expect(
            String(decoding: ProbeRequest(name: "www.example", port: 443).bytes, as: UTF8.self)
                == "HEAD / HTTP/1.1\r\nHost: www.example\r\nUser-Agent: httpdnsd\r\nConnection: close\r\n\r\n")
        let other = String(decoding: ProbeRequest(name: "www.example", port: 8443).bytes, as: UTF8.self)
        #expect(other.contains("\r\nHost: www.example:8443\r\n"))
    }

    private static let replies: [(String, ProbeRequest.Reply)] = [
        ("HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", .status(200)), ("HTTP/1.0 404 ", .status(404)),
        ("HTTP/1.1 421", .status(421)), ("HTTP/1.1 503\r\n", .status(503)),
        ("", .incomplete), ("HTTP/1.1 42", .incomplete), ("H", .incomplete),
        ("h", .other), ("http/1.1 200", .other), ("HTTP/2 200 OK", .other), ("HTTP/1.1  421", .other),
        ("HTTP/1.1 2x0", .other), ("SSH-2.0-OpenSSH", .other), ("\0\0\u{12}\u{4}", .other), ("* OK IMAP4", .other),
    ]

    @Test("a status line is known by its first twelve bytes", arguments: replies)
    func reply(text: String, expected: ProbeRequest.Reply) {
        var request = ProbeRequest(name: "www.example", port: 443)
        #expect(request.receive(Array(text.utf8)) == expected)
    }

    @Test("the pieces in which a reply comes do not matter", arguments: replies)
    func pieces(text: String, expected: ProbeRequest.Reply) {
        var request = ProbeRequest(name: "www.example", port: 443)
        var reply = ProbeRequest.Reply.incomplete
        for byte in text.utf8 where reply == .incomplete { reply = request.receive([byte]) }
        #expect(reply == expected)
    }
}
