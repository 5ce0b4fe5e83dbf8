// Generated replies of HTTP/1.1, read by this client and by curl: both must agree about status, headers and body, or
// refuse.

import DNSWire
import Glibc
import HTTPClient
import TestSupport
import Testing

@Suite struct CurlComparisonTests {
    private struct Outcome: Equatable {
        var status = 0
        var fields: [String] = []
        var body: [UInt8] = []
    }

    private let loop = PollLoop()
    private static let count = 400

    @Test("this client and curl read the same replies")
    func comparison() throws {
        // The seed is fixed, since curl accepts some replies that are invalid.
        var random = SeededRandom(seed: 1)
        let replies = (0..<CurlComparisonTests.count).map { _ in GeneratedReply(&random).bytes }
        try StubServer.with([.replyByNumber(replies)]) { server in
            let theirs = try curl(server.port)
            for (number, their) in theirs.enumerated() {
                let our = try own(number, server.port)
                #expect(our == their, "\(String(decoding: replies[number], as: UTF8.self).debugDescription)")
            }
            let refused = theirs.count(where: { $0 == nil })
            #expect((50...350).contains(refused), "\(refused) refused: the replies are of both kinds")
        }
    }

    private func own(_ number: Int, _ port: UInt16) throws -> Outcome? {
        let endpoint = try #require(HTTPEndpoint(scheme: .http, host: "127.0.0.1", port: port, address: "127.0.0.1"))
        let request = TransferRequest(
            HTTPRequest(url: "/\(number)"), to: endpoint, timeout: .seconds(10), connectTimeout: .seconds(10))
        guard case .success(let reply) = loop.result(of: request) else { return nil }
        let fields = reply.headers.fields.map { "\($0.name):\($0.value)" }
        return Outcome(status: reply.status, fields: fields, body: reply.body)
    }

    /// Runs curl once for all replies.
    private func curl(_ port: UInt16) throws -> [Outcome?] {
        let folder = TemporaryFolder.make()
        defer { Command.run("rm", ["-r", folder]) }
        let numbers = 0..<CurlComparisonTests.count
        let configuration = numbers.map { number in
            """
            url = "http://127.0.0.1:\(port)/\(number)"
            output = "\(folder)/\(number).body"
            dump-header = "\(folder)/\(number).head"
            write-out = "%{exitcode}\\n"
            noproxy = "*"
            max-time = 10
            silent
            """
        }
        Command.write(configuration.joined(separator: "\nnext\n"), to: folder + "/curlrc")
        Command.wait(
            for: Command.start("curl", ["--disable", "--config", folder + "/curlrc"], output: folder + "/codes"))
        let codes = try TestFile.bytes(at: folder + "/codes").split(separator: 0x0A)
        try #require(codes.count == numbers.count)
        return numbers.map { number in
            guard codes[number].elementsEqual("0".utf8) else { return nil }
            let body = (try? TestFile.bytes(at: "\(folder)/\(number).body")) ?? []
            return outcome((try? TestFile.bytes(at: "\(folder)/\(number).head")) ?? [], body)
        }
    }

    /// The last reply of curl's record of header blocks, without trailers. Curl accepts a reply that ends within its
    /// headers, or after an interim reply; here, both count as refused.
    private func outcome(_ head: [UInt8], _ body: [UInt8]) -> Outcome? {
        var (outcome, isTrailer) = (Outcome(body: body), false)
        let lines = String(decoding: head, as: UTF8.self)
            .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).dropLast()
        for line in lines {
            if line.hasPrefix("HTTP/") {
                outcome = Outcome(status: Int(line.dropFirst(9).prefix(3)) ?? 0, body: body)
                isTrailer = false
            } else if line.isEmpty {
                isTrailer = true
            } else if !isTrailer, let colon = line.firstIndex(of: ":") {
                var value = line[line.index(after: colon)...].drop { " \t".contains($0) }
                while let last = value.last, " \t".contains(last) { value.removeLast() }
                outcome.fields.append("\(line[..<colon]):\(value)")
            }
        }
        return isTrailer && outcome.status >= 200 ? outcome : nil
    }
}

/// A reply that is right, cut, or wrong in one place.
private struct GeneratedReply {
    private(set) var bytes: [UInt8]

    init(_ random: inout SeededRandom) {
        let end = Int.random(in: 0..<4, using: &random) == 0 ? "\n" : "\r\n"
        var lines: [String] = []
        if Int.random(in: 0..<4, using: &random) == 0 { lines += ["HTTP/1.1 103 Early", "X-Early: 1", ""] }
        let statuses = ["HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 404", "HTTP/1.1 500 "]
        lines.append(GeneratedReply.pick(statuses, &random))
        for number in 0..<Int.random(in: 0..<4, using: &random) {
            lines.append("X-\(number):" + GeneratedReply.pick(["", " a", "\tb ", "c", " d e", " f:g"], &random))
        }
        let body = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
            UInt8.random(in: 0x20...0x7E, using: &random)
        }
        let content: [UInt8]
        switch Int.random(in: 0..<4, using: &random) {
        case 0: content = body
        case 1:
            let claimed = body.count + GeneratedReply.pick([0, 0, 0, 3], &random)
            lines.append("Content-Length: \(claimed)")
            content = body
        case 2:
            let wrong = ["Content-Length: x", "Content-Length: -1", "Transfer-Encoding: rot13"]
            lines.append(GeneratedReply.pick(wrong, &random))
            // Curl takes no offence at an unknown encoding of nothing.
            content = body + [0x78]
        default:
            lines.append("Transfer-Encoding: chunked")
            content = GeneratedReply.chunks(body, end, &random)
        }
        bytes = Array((lines + ["", ""]).joined(separator: end).utf8) + content
        if Int.random(in: 0..<5, using: &random) == 0 {
            // Curl takes the last CR for the end of the reply.
            bytes.removeLast(Int.random(in: 2...bytes.count, using: &random))
        }
    }

    private static func chunks(_ body: [UInt8], _ end: String, _ random: inout SeededRandom) -> [UInt8] {
        var (chunks, rest) = ([UInt8](), body[...])
        while !rest.isEmpty {
            let part = rest.prefix(Int.random(in: 1...20, using: &random))
            rest = rest.dropFirst(part.count)
            let size = String(part.count, radix: 16, uppercase: Bool.random(using: &random))
            let line = pick(["", "", "0"], &random) + size + pick(["", "", ";a=b"], &random) + end
            chunks += Array(line.utf8) + part + Array(pick([end, end, end, end, end, end, end, "x"], &random).utf8)
        }
        return chunks + Array(("0" + end + pick(["", "X-Trailer: 1" + end], &random) + end).utf8)
    }

    private static func pick<Value>(_ values: [Value], _ random: inout SeededRandom) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }
}
