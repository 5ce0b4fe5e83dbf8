// Probes of servers that show a certificate: its names, its validity, and the server's reply to a request.

import Control
import DNSWire
import LinuxIO
import Resolver
import Testing

@testable import Daemon
@testable import TestTLS

struct ProbeHandshakeTests {
    /// A wall clock for tests; it begins on a day on which the clock is not doubtful.
    private final class Wall {
        var seconds = programReleasedAt + 86_400
    }

    private let stand: ProbeStand
    private let root: TestCertificate
    private let wall = Wall()
    private var probes: Probes { stand.probes }

    init() throws {
        let (wall, root) = (wall, ProbeHandshakeTests.certificate("trusted root", isAuthority: true))
        stand = try ProbeStand(trusting: root) { wall.seconds * 1000 }
        self.root = root
    }

    /// A certificate that is valid around the day of the test; `from` and `to` are in seconds from the test's time.
    private static func certificate(
        _ subject: String, names: String = "", isAuthority: Bool = false, from: Int64 = -1000, to: Int64 = 1000,
        issuer: TestCertificate? = nil
    ) -> TestCertificate {
        var terms = CertificateTerms(subject: subject, names: names, isAuthority: isAuthority)
        terms.notBefore = programReleasedAt + 86_400 + from
        terms.notAfter = programReleasedAt + 86_400 + to
        return TestCertificate(terms, issuer: issuer)
    }

    private var good: TestCertificate {
        ProbeHandshakeTests.certificate("server", names: "DNS:www.example", issuer: root)
    }

    /// The server's action after a request.
    private enum Answer {
        case none, end
        case text(String)
    }

    /// The servers of one test: one for each connection.
    private final class Servers {
        var all: [MemoryServer] = []
        private let make: () -> MemoryServer
        private let answer: Answer

        init(_ answer: Answer, _ make: @escaping () -> MemoryServer) {
            self.make = make
            self.answer = answer
        }

        func conversation() -> ProbedServer.Conversation {
            let server = make()
            all.append(server)
            return { [answer] bytes in
                let reply = server.reply(to: bytes)
                guard server.received.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return (reply, false) }
                switch answer {
                case .none: return (reply, false)
                case .end: return (reply + server.close(), true)
                case .text(let text): return (reply + server.send(Array(text.utf8)), false)
                }
            }
        }
    }

    private func servers(
        _ chain: [TestCertificate], _ terms: MemoryServer.Terms = MemoryServer.Terms(), _ answer: Answer = .none
    ) -> Servers {
        Servers(answer) { MemoryServer(chain, terms) }
    }

    private func found(_ servers: Servers, name: String = "www.example") throws -> ProbeResult {
        let server = try ProbedServer(.converses(servers.conversation), stand.loop)
        let result = try stand.found(stand.target(server.port, name: name))
        // The last bytes are received before the end of the connection.
        try stand.turn { server.accepted == 1 && server.connectionCount == 0 }
        return result
    }

    // MARK: certificates

    @Test("a certificate for the name, from an authority that is trusted, is verified", arguments: TLSVersion.allCases)
    func verified(version: TLSVersion) throws {
        let servers = servers([good], MemoryServer.Terms(lowest: version.number, highest: version.number))
        let result = try found(servers, name: "WWW.Example.")
        #expect(result.verdict == .verified && result.detail.isEmpty)
        let certificate = try #require(result.certificate)
        #expect(certificate.names == ["www.example"] && certificate.issuer.contains("trusted root"))
        #expect(certificate.notBefore == wall.seconds - 1000 && certificate.notAfter == wall.seconds + 1000)
        let times = [result.connectTime, result.handshakeTime].compactMap { $0 }
        #expect(times.count == 2 && times.allSatisfy { $0 >= .zero && $0 < .seconds(20) })
        let server = try #require(servers.all.first)
        #expect(server.name == "www.example", "the name is said as other programs say it")
        #expect(server.isDone, "the server sees a handshake, and no failure")
        #expect(server.received.isEmpty, "nothing is sent beyond it")
    }

    @Test("a certificate for another name is reported with its names")
    func wrongName() throws {
        let other = ProbeHandshakeTests.certificate("x", names: "DNS:a.example, DNS:b.example", issuer: root)
        let result = try found(servers([other]))
        #expect(result.verdict == .nameMismatch && result.detail == "the certificate is for a.example, b.example")
        #expect(result.certificate?.names == ["a.example", "b.example"] && result.handshakeTime != nil)
    }

    @Test("a certificate without a trusted issuer is untrusted, and reported")
    func untrusted() throws {
        let stranger = ProbeHandshakeTests.certificate("x", names: "DNS:www.example")
        let result = try found(servers([stranger]))
        #expect(result.verdict == .untrusted && !result.detail.isEmpty && result.certificate != nil)
    }

    @Test("a certificate that is over, or has not begun, says when", arguments: [true, false])
    func notValidNow(isOver: Bool) throws {
        let (from, to): (Int64, Int64) = isOver ? (-1000, -100) : (100, 1000)
        let expired = ProbeHandshakeTests.certificate("x", names: "DNS:www.example", from: from, to: to, issuer: root)
        let result = try found(servers([expired]))
        #expect(result.verdict == .expiredCertificate)
        #expect(result.detail.hasPrefix(isOver ? "expired Sat, 21 Nov 2026 23:58:20" : "not valid before Sun, 22 Nov"))
    }

    @Test("what a clock from before the release says of a certificate is not believed")
    func early() throws {
        wall.seconds = programReleasedAt - 1
        let result = try found(servers([good]))
        #expect(result.verdict == .timeDoubtful && result.certificate != nil)
    }

    @Test("a clock that is set while a probe is under way makes its time doubtful")
    func jump() throws {
        let (wall, servers) = (wall, servers([good]))
        let server = try ProbedServer(
            .converses {
                wall.seconds += 3600
                return servers.conversation()
            }, stand.loop)
        #expect(try stand.found(stand.target(server.port)).verdict == .timeDoubtful)
    }

    @Test("a clock that is set before the first probe makes its time doubtful")
    func jumpBefore() throws {
        stand.probes.readClock(now: Clock.now())
        wall.seconds += 3600
        stand.probes.readClock(now: Clock.now())
        #expect(try found(servers([good])).verdict == .timeDoubtful)
    }

    @Test("a server that does not know the name says so with an alert")
    func unknownName() throws {
        let result = try found(servers([good], MemoryServer.Terms(onlyName: "other.example")))
        #expect(result.verdict == .tlsAlert && result.detail.contains("unrecognized name"))
    }

    @Test("a handshake that is cut off is a reset, however little is missing", arguments: [1, 2, 30, 100, 400, 10_000])
    func cut(by count: Int) throws {
        let chain = [good]
        let server = try ProbedServer(
            .converses {
                let server = MemoryServer(chain)
                return { bytes in
                    let flight = server.reply(to: bytes)
                    return (Array(flight.prefix(max(flight.count - count, 1))), true)
                }
            }, stand.loop)
        let result = try stand.found(stand.target(server.port))
        #expect(result.verdict == .tlsReset && result.certificate == nil && result.handshakeTime == nil)
    }

    // MARK: a request

    private func answered(_ answer: Answer, _ chain: [TestCertificate]? = nil) throws -> (ProbeResult, MemoryServer) {
        try stand.configure(sendsRequest: true)
        let servers = servers(chain ?? [good], MemoryServer.Terms(), answer)
        let result = try found(servers)
        return (result, try #require(servers.all.first))
    }

    @Test("a server that answers with a status is verified, whatever it is", arguments: [100, 200, 301, 403, 404, 503])
    func status(code: Int) throws {
        let (result, server) = try answered(.text("HTTP/1.1 \(code) X\r\nServer: x\r\n\r\n"))
        #expect(result.verdict == .verified && result.detail.isEmpty && result.certificate != nil)
        let request = String(decoding: server.received, as: UTF8.self)
        #expect(request.hasPrefix("HEAD / HTTP/1.1\r\nHost: www.example:"))
    }

    @Test("a server that says 421 does not serve the name, whatever its certificate says")
    func misdirected() throws {
        let (result, _) = try answered(.text("HTTP/1.1 421 Misdirected Request\r\n\r\n"))
        #expect(result.verdict == .nameMismatch && result.detail == "421 Misdirected Request")
        #expect(result.certificate?.names == ["www.example"] && result.handshakeTime != nil)
    }

    @Test("a server that speaks something else than HTTP has shown its certificate all the same")
    func otherProtocol() throws {
        let (result, _) = try answered(.text("* OK IMAP4rev1\r\n"))
        #expect(result.verdict == .verified && result.detail == "the answer to HEAD is not HTTP/1")
    }

    @Test("a server that ends instead of answering is a reset")
    func endsUnanswered() throws {
        let (result, _) = try answered(.end)
        #expect(result.verdict == .tlsReset && result.detail == "closed after HEAD")
        #expect(result.certificate != nil && result.handshakeTime != nil)
    }

    @Test("a server that does not answer, or not enough, has its time", arguments: ["", "HTTP/1.1 42"])
    func unanswered(text: String) throws {
        try stand.configure(sendsRequest: true)
        let servers = servers([good], MemoryServer.Terms(), text.isEmpty ? .none : .text(text))
        let server = try ProbedServer(.converses(servers.conversation), stand.loop)
        let result = try stand.foundAtDeadline(stand.target(server.port)) {
            servers.all.first.map { !$0.received.isEmpty } ?? false
        }
        #expect(result.verdict == .tlsTimeout && result.detail == "no answer to HEAD")
        #expect(result.certificate != nil && result.handshakeTime != nil)
    }

    @Test("a server that is not verified gets no request")
    func silentToStrangers() throws {
        let other = ProbeHandshakeTests.certificate("x", names: "DNS:other.example", issuer: root)
        let (result, server) = try answered(.text("HTTP/1.1 200 OK\r\n\r\n"), [other])
        #expect(result.verdict == .nameMismatch && server.received.isEmpty)
    }
}
