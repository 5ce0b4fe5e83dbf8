// Vectors for replies of HTTP/1.1: each gives the same reply however its bytes are split.

import DNSWire
import Testing

@testable import HTTPClient

@Suite struct HTTP1ReaderTests {
    private struct Reply: Equatable {
        enum End: Equatable {
            case open, complete
            case failed(String)
        }

        var status: Int?
        var fields: [String] = []
        var body: [UInt8] = []
        var end = End.open
        /// The number of bytes up to the end of the reply.
        var byteCount = 0
        var keepsConnection = false

        var text: String { String(decoding: body, as: UTF8.self) }
        var failure: String? { if case .failed(let kind) = end { kind } else { nil } }
    }

    /// Returns the reply that the pieces make, followed by the end of the connection.
    private func read(_ pieces: [[UInt8]], endsConnection: Bool = false) -> Reply {
        var (reader, reply) = (HTTP1Reader(), Reply())
        for piece in pieces {
            var start = 0
            while reply.end == .open, take(reader.next(in: piece.span, from: &start), of: piece, reader, &reply) {}
            reply.byteCount += start
        }
        if endsConnection, reply.end == .open, reader.receivedEnd() { reply.end = .complete }
        reply.keepsConnection = reader.keepsConnection
        // What is no status line may be refused before its end.
        if reply.failure != nil { reply.byteCount = 0 }
        return reply
    }

    /// - Returns: false if the piece is processed.
    private func take(
        _ event: HTTP1Reader.Event, of piece: [UInt8], _ reader: HTTP1Reader, _ reply: inout Reply
    ) -> Bool {
        switch event {
        case .needsMore: return false
        case .status(let status): reply.status = status
        case .field(let field):
            let bytes = field.isHeld ? reader.held : piece
            let parts = [bytes[field.name], bytes[field.value]].map { String(decoding: $0, as: UTF8.self) }
            reply.fields.append(parts.joined(separator: "="))
        case .endOfFields: break
        case .data(let range): reply.body += piece[range]
        case .complete: reply.end = .complete
        case .failed(let failure): reply.end = .failed(failure.kind)
        }
        return true
    }

    /// Returns the reply, after checking that every segmentation gives the same.
    private func read(
        _ text: String, endsConnection: Bool = false, at location: SourceLocation = #_sourceLocation
    ) -> Reply {
        let bytes = Array(text.utf8)
        let whole = read([bytes], endsConnection: endsConnection)
        #expect(read(bytes.map { [$0] }, endsConnection: endsConnection) == whole, sourceLocation: location)
        for cut in 0...bytes.count {
            let split = read([Array(bytes[..<cut]), Array(bytes[cut...])], endsConnection: endsConnection)
            #expect(split == whole, "cut at \(cut)", sourceLocation: location)
        }
        return whole
    }

    @Test("a reply with a length has status, fields, body and an end, after which bytes are left")
    func length() {
        let reply = read("HTTP/1.1 200 OK\r\nA: 1\r\nContent-Length: 2\r\nb:\t x y \r\n\r\nhi!")
        #expect(reply.status == 200 && reply.fields == ["A=1", "Content-Length=2", "b=x y"] && reply.text == "hi")
        #expect(reply.end == .complete && reply.byteCount == 56 && reply.keepsConnection)
    }

    @Test("a line may end without CR, and reason and value may be empty")
    func lenient() {
        let reply = read("HTTP/1.1 404\nA:\nContent-Length:0\n\n")
        #expect(reply.status == 404 && reply.fields == ["A=", "Content-Length=0"] && reply.end == .complete)
        #expect(read("HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\nx").text == "x")
    }

    @Test("chunks are joined, extensions skipped, trailers discarded")
    func chunks() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
        let reply = read(head + "2\r\nab\r\n00A;x=\"y\"\r\n0123456789\r\n1 \r\nc\r\n0;z\r\nA: late\r\n\r\nrest")
        #expect(reply.text == "ab0123456789c" && reply.end == .complete && reply.keepsConnection)
        #expect(reply.fields == ["Transfer-Encoding=Chunked"])
        #expect(read(head + "1\nx\n0\n\n").text == "x")
        #expect(read(head + "0\r\n\r\n").end == .complete)
    }

    @Test(
        "broken chunks are garbage",
        arguments: [
            "x\r\n", "\r\n", ";a\r\n", "-1\r\n", "0x1\r\n", "1\rx", "1\r\nabc", "1\r\na\rb", "1\r\na0\r\n", "1,\r\n",
            "00000000000000001\r\n",
        ])
    func brokenChunks(body: String) {
        #expect(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body).failure == "garbage")
    }

    @Test("interim replies are discarded with their fields, and 101 is garbage")
    func interim() {
        let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nContent-Length: 7\r\nConnection: close\r\n\r\n"
        let reply = read(early + "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
        #expect(reply.status == 200 && reply.fields == ["Content-Length=1"] && reply.text == "x")
        #expect(reply.end == .complete && reply.keepsConnection)
        #expect(read("HTTP/1.1 101 Switching\r\n\r\n").failure == "garbage")
    }

    @Test("204 and 304 have no body, whatever their fields say", arguments: [204, 304])
    func withoutBody(status: Int) {
        for field in ["Content-Length: 5", "Content-Length: 99999", "Transfer-Encoding: chunked", "A: b"] {
            let reply = read("HTTP/1.1 \(status) x\r\n\(field)\r\n\r\nhello")
            #expect(reply.end == .complete && reply.body == [] && reply.status == status)
        }
    }

    @Test(
        "what is no status line is garbage",
        arguments: [
            "SSH-2.0-OpenSSH_9.2", "HTTP/2 200 OK", "HTTP/1.1  200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK",
            "HTTP/1.1 -20 OK", "HTTP/1.1 099 OK", "http/1.1 200 OK", " HTTP/1.1 200 OK", "HTTP/1.x 200 OK", "",
        ])
    func noStatus(line: String) {
        #expect(read(line + "\r\nContent-Length: 0\r\n\r\n").failure == "garbage")
    }

    @Test("what cannot become a status line is garbage before the line ends")
    func otherProtocol() {
        for text in ["x", "SSH-2.0", "HTTP/2", "\0\u{1}\0"] { #expect(read(text).failure == "garbage") }
        for text in ["H", "HTTP/1.", "HTTP/1.1 200 O"] { #expect(read(text).end == .open) }
    }

    @Test(
        "what is no header field is garbage",
        arguments: [
            "A : b", " folded", "\tfolded", ": b", "A", "A b: c", "A\u{e9}: b", "A: b\0c", "A: b\rc", "A(: b",
        ])
    func noField(line: String) {
        #expect(read("HTTP/1.1 200 OK\r\nB: c\r\n\(line)\r\n\r\n").failure == "garbage")
        #expect(read("HTTP/1.1 103 Early\r\nB: c\r\n\(line)\r\n\r\n").failure == "garbage")
    }

    @Test(
        "a wrong length, and two that differ, are garbage",
        arguments: ["-1", "+1", "1x", "0x1", "1, 1", "", "1 1", "1\r\nContent-Length: 2", "2\r\ncontent-length: 1"])
    func wrongLength(value: String) {
        #expect(read("HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\nx").failure == "garbage")
    }

    @Test("equal lengths count once")
    func equalLengths() {
        let reply = read("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 01\r\n\r\nx")
        #expect(reply.text == "x" && reply.end == .complete)
    }

    @Test(
        "an encoding of the transfer other than one chunked is garbage",
        arguments: [
            "gzip", "chunked, chunked", "gzip, chunked", "identity", "", "chunked\r\nTransfer-Encoding: chunked",
        ])
    func wrongEncoding(value: String) {
        #expect(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(value)\r\n\r\n0\r\n\r\n").failure == "garbage")
    }

    @Test("chunks win over a length, and the connection ends, as with chunks in HTTP/1.0")
    func smuggling() {
        for head in [
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3",
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked",
        ] {
            let reply = read(head + "\r\n\r\n1\r\nx\r\n0\r\n\r\n")
            #expect(reply.text == "x" && reply.end == .complete && !reply.keepsConnection)
        }
    }

    @Test("without a length, only the end of the connection ends the reply")
    func untilEnd() {
        let text = "HTTP/1.1 200 OK\r\n\r\nhello"
        #expect(read(text).end == .open)
        let reply = read(text, endsConnection: true)
        #expect(reply.text == "hello" && reply.end == .complete && !reply.keepsConnection)
        for cut in [
            "", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nA", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
        ] {
            #expect(read(cut, endsConnection: true).end == .open)
        }
    }

    @Test("version and Connection say whether the connection is kept")
    func connection() {
        let keeps = { (version: String, options: String) in
            read("\(version) 200 OK\r\n\(options)Content-Length: 0\r\n\r\n").keepsConnection
        }
        #expect(keeps("HTTP/1.1", "") && keeps("HTTP/1.1", "Connection: x, Keep-Alive\r\n"))
        #expect(!keeps("HTTP/1.1", "Connection: close\r\n") && !keeps("HTTP/1.1", "connection: x ,\tCLOSE\r\n"))
        #expect(!keeps("HTTP/1.1", "Connection: a\r\nConnection: close\r\n"))
        #expect(!keeps("HTTP/1.0", "") && keeps("HTTP/1.0", "Connection: keep-alive\r\n"))
        #expect(!keeps("HTTP/1.0", "Connection: keep-alive, close\r\n") && keeps("HTTP/1.1", "Connection: closed\r\n"))
    }

    @Test("lines, fields and announced bodies have bounds")
    func bounds() {
        let fields = { (count: Int) in
            read([Array("HTTP/1.1 200 OK\r\n\((0..<count).map { "\($0): a\r\n" }.joined())\r\n".utf8)])
        }
        #expect(fields(64).end == .open && fields(65).failure == "oversized")
        let line = { (count: Int) in
            read([Array("HTTP/1.1 200 OK\r\nA: ".utf8), [UInt8](repeating: 0x78, count: count), Array("\r\n\r\n".utf8)])
        }
        // 17 bytes are the status line, 3 the name, 4 the ends of lines.
        #expect(line(16_384 - 24).failure == nil && line(16_384 - 23).failure == "oversized")
        let length = { (value: String) in read("HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\n") }
        #expect(length("65536").end == .open && length("65537").failure == "oversized")
        #expect(length("99999999999999999999999999").failure == "oversized")
        let chunk = { (size: String) in read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\n") }
        #expect(chunk("10000").end == .open && chunk("10001").failure == "oversized")
    }
}
