// The raw exchanges of providers.md over the daemon's HTTP client and a socket to the lab: the bytes that arrive there,
// the bytes of the reply, the parsed answers, and the bytes that clients get of them.

import DNSWire
import Glibc
import HTTPClient
import JSON
import LinuxIO
import Synchronization
import TestSupport
import Testing
import httpdns_lab

@testable import HTTPDNS

struct ExchangeTests {
    @Test("the bytes of the exchange go there and back", arguments: RawExchange.all)
    func exchange(_ raw: RawExchange) throws {
        let server = try LabServer(raw)
        let request = try raw.dialect.request(for: raw.questions, in: raw.client)
        try check(server.reply(to: request), raw)
        for (name, value) in raw.headers { #expect(server.arrived.first?.headers[name] == value) }
        if let vendorsTarget = raw.vendorsTarget {
            try check(server.reply(to: HTTPRequest(url: vendorsTarget, headers: request.headers)), raw)
        }
        #expect(server.arrived.map(\.url) == [raw.target] + [raw.vendorsTarget].compactMap { $0 })
    }

    private func check(_ reply: HTTPReply, _ raw: RawExchange) throws {
        #expect(reply.status == 200)
        #expect(reply.headers["Content-Type"] == raw.contentType)
        switch raw.body {
        case .any: break
        case .bytes(let text): #expect(String(decoding: reply.body, as: UTF8.self) == text)
        case .json(let text): #expect(try JSONValue.decode(reply.body) == JSONValue.decode(Array(text.utf8)))
        }
        let answers = raw.dialect.answers(from: reply, to: raw.questions)
        #expect(zip(raw.questions, answers).map(ExchangeTests.line) == raw.answers)
        var comparison = ReplyComparison()
        for (question, answer) in zip(raw.questions, answers) {
            #expect(comparison.difference(of: try answer.get(), to: question) == nil)
        }
    }

    @Test("every exchange that is written down is here")
    func all() {
        let wanted = ["T0", "T1", "T2", "T3", "A1", "A2", "A3", "V1", "B1", "P1", "D1"]
        #expect(Set(RawExchange.all.map { String($0.name.prefix(2)) }) == Set(wanted))
    }

    private static func line(_ question: Question, _ result: Result<Answer, DialectError>) -> String {
        switch result {
        case .success(let answer):
            let words = ["\(question.name)", "\(answer.ttlSeconds)"] + answer.addresses.map(\.description)
            return words.joined(separator: " ")
        case .failure(let error): return "\(error)"
        }
    }
}

/// The lab on a port of its own, with an exchange's clock and nonce, and a client that sends it one request.
private struct LabServer: ~Copyable {
    private let listener: HTTPListener
    private let log = Log()

    /// The requests, received by the listener's threads.
    private final class Log: Sendable {
        let requests = Mutex<[HTTPRequest]>([])
    }

    init(_ raw: RawExchange) throws {
        let zone = ". 3600 SOA ns.lab.example. admin.lab.example. 1 2 3 4 \(raw.negativeTTLSeconds)\n" + raw.zone
        let lab = Lab(try ZoneParser.zone(from: zone, file: "exchange.zone"))
        let context = ListenerContext(
            respond: { [log] request in
                log.requests.withLock { $0.append(request) }
                return lab.respond(to: request, in: raw.server)
            }, generation: { 0 })
        let endpoint = SocketAddress("127.0.0.1:0")
        listener = try HTTPListener(on: try #require(endpoint), credentials: nil, context: context)
    }

    var arrived: [HTTPRequest] { log.requests.withLock { $0 } }

    func reply(to request: HTTPRequest) throws -> HTTPReply {
        let endpoint = HTTPEndpoint(scheme: .http, host: "127.0.0.1", port: listener.port, address: "127.0.0.1")
        let transfer = TransferRequest(
            request, to: try #require(endpoint), timeout: .seconds(10), connectTimeout: .seconds(10))
        return try OneTransfer().reply(to: transfer)
    }
}

/// Drives a client with poll(2) until its one transfer has ended.
private final class OneTransfer {
    private final class Watched {
        var interest: [Int32: SocketInterest] = [:]
    }

    private let watched = Watched()
    private let client: HTTPClient

    init() {
        client = HTTPClient { [watched] descriptor, wants in
            watched.interest[descriptor] = wants == .none ? nil : wants
        }
    }

    /// The reply to the request. The client's own time-out bounds the wait.
    func reply(to request: TransferRequest) throws -> HTTPReply {
        _ = client.start(request, now: Clock.now())
        while true {
            if let finished = client.takeFinished().first {
                let reply = try finished.result.get()
                return HTTPReply(status: reply.status, headers: reply.headers, body: reply.body)
            }
            turn()
        }
    }

    private func turn() {
        var polled = watched.interest.map { descriptor, wants in
            let events = (wants == .write ? 0 : POLLIN) | (wants == .read ? 0 : POLLOUT)
            return pollfd(fd: descriptor, events: Int16(events), revents: 0)
        }
        _ = unsafe poll(&polled, nfds_t(polled.count), 10)
        for entry in polled where entry.revents != 0 { client.socketReady(entry.fd, now: Clock.now()) }
        client.timePassed(now: Clock.now())
    }
}
