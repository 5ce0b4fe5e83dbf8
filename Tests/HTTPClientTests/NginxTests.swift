// TLS, identities, HTTP/2 and reuse, against a real nginx.

import Crypto
import DNSWire
import HTTPClient
import LinuxIO
import Testing

@Suite struct NginxTests {
    private let loop = PollLoop()
    private let nginx = Nginx()

    private func makeRequest(
        host: String = "one.example", sni: String? = nil, verifyName: String? = nil, hostHeader: String? = nil,
        trusted: Bool = true, target: String = "/", method: HTTPRequest.Method = .get
    ) throws -> TransferRequest {
        let endpoint = try #require(
            HTTPEndpoint(
                scheme: .https, host: host, port: nginx.port, address: "127.0.0.1", sni: sni, verifyName: verifyName,
                hostHeader: hostHeader, caFile: trusted ? nginx.caFile : nil))
        return TransferRequest(
            HTTPRequest(method: method, url: target, body: method == .post ? Array("abc".utf8) : []), to: endpoint,
            timeout: .seconds(15), connectTimeout: .seconds(15))
    }

    private func text(_ reply: TransferReply?) -> String { String(decoding: reply?.body ?? [], as: UTF8.self) }

    private func isRefusedAsTLS(_ request: TransferRequest, because reason: String) -> Bool {
        guard case .tls(let text) = loop.failure(of: request) else { return false }
        return text.lowercased().contains(reason)
    }

    @Test("twenty requests at once share one HTTP/2 connection, and later ones find it open")
    func multiplexing() throws {
        let request = try makeRequest()
        let ids = (0..<20).map { _ in loop.start(request) }
        loop.run { loop.results.count == ids.count }
        let replies = ids.compactMap { try? loop.results[$0]?.get() }
        #expect(replies.count == 20 && replies.allSatisfy { $0.httpVersion == .http2 && $0.status == 200 })
        #expect(Set(replies.map(text)).count == 1)
        #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 1, reused: 19))
        #expect(loop.reply(to: request)?.connectionWasReused == true)
        #expect(loop.client.connections(to: request.endpoint).reused == 20)
    }

    @Test("two virtual hosts on one address answer each for itself, on connections of their own")
    func virtualHosts() throws {
        for host in ["one.example", "two.example", "one.example"] {
            let body = text(loop.reply(to: try makeRequest(host: host)))
            #expect(body.hasPrefix("\(host) host=\(host) sni=\(host) "))
        }
        #expect(loop.client.connections == ConnectionCounts(open: 2, opened: 2, reused: 1))
    }

    @Test("an address as host is checked against the certificate and not sent as SNI")
    func addressAsHost() throws {
        let body = text(loop.reply(to: try makeRequest(host: "127.0.0.1")))
        #expect(body.hasPrefix("default host=127.0.0.1 sni= "))
    }

    @Test("a certificate for another name is refused as tls, whichever part checks it")
    func wrongName() throws {
        // For an unknown server name, nginx sends the default certificate.
        let mismatch = try makeRequest(host: "three.example")
        #expect(isRefusedAsTLS(mismatch, because: "name"))
        #expect(isRefusedAsTLS(try makeRequest(verifyName: "two.example"), because: "hostname mismatch"))
        #expect(isRefusedAsTLS(try makeRequest(sni: "two.example"), because: "hostname mismatch"))
        #expect(isRefusedAsTLS(try makeRequest(verifyName: "127.0.0.1"), because: "ip address mismatch"))
        #expect(isRefusedAsTLS(try makeRequest(host: "127.0.0.2"), because: "ip address mismatch"))
        #expect(isRefusedAsTLS(try makeRequest(verifyName: "example"), because: "hostname mismatch"))
        #expect(loop.client.connections.open == 0)
    }

    @Test("many requests at once to a wrong name fail one by one, and no descriptor is watched for another")
    func wrongNameForMany() throws {
        let request = try makeRequest(verifyName: "two.example")
        let ids = (0..<20).map { _ in loop.start(request) }
        loop.run { loop.results.count == ids.count }
        #expect(ids.allSatisfy { if case .failure(.tls) = loop.results[$0] { true } else { false } })
        #expect(loop.watchedDescriptors == 0 && loop.client.connections.open == 0)
    }

    @Test("SNI, checked name and Host are set apart")
    func setApart() throws {
        let apart = try makeRequest(
            host: "api.example", sni: "two.example", verifyName: "two.example", hostHeader: "third.example")
        // nginx chooses the server by Host; the client checks that the certificate is that of two.example.
        #expect(text(loop.reply(to: apart)).contains("host=third.example sni=two.example "))
        let sniOnly = try makeRequest(host: "one.example", sni: "two.example", verifyName: "two.example")
        #expect(text(loop.reply(to: sniOnly)).contains("host=one.example sni=two.example "))
        let byAddress = try makeRequest(host: "127.0.0.1", sni: "default", verifyName: "127.0.0.1")
        #expect(text(loop.reply(to: byAddress)).contains("host=127.0.0.1 sni=default "))
    }

    @Test("a connection is not shared with an endpoint that checks another name")
    func noSharingAcrossIdentities() throws {
        let right = try makeRequest()
        #expect(loop.reply(to: right)?.status == 200)
        // The request differs from the good one in the verified name alone, and the good connection is open.
        #expect(isRefusedAsTLS(try makeRequest(verifyName: "two.example"), because: "hostname mismatch"))
        let accepted = try makeRequest(host: "two.example", sni: "one.example", verifyName: "one.example")
        #expect(loop.reply(to: accepted)?.connectionWasReused == false)
        #expect(isRefusedAsTLS(try makeRequest(host: "two.example", sni: "one.example"), because: "hostname mismatch"))
        #expect(isRefusedAsTLS(try makeRequest(trusted: false), because: "certificate"))
        #expect(loop.reply(to: right)?.connectionWasReused == true)
    }

    @Test("a certificate of an unknown authority is refused as tls, with or without a name set apart")
    func unknownAuthority() throws {
        #expect(isRefusedAsTLS(try makeRequest(trusted: false), because: "certificate"))
        let apart = try makeRequest(host: "api.example", verifyName: "one.example", trusted: false)
        #expect(isRefusedAsTLS(apart, because: "certificate"))
    }

    @Test("a CA file that does not exist fails as tls")
    func missingAuthority() throws {
        let endpoint = try #require(
            HTTPEndpoint(
                scheme: .https, host: "one.example", port: nginx.port, address: "127.0.0.1", caFile: "/nonexistent"))
        let request = TransferRequest(
            HTTPRequest(url: "/"), to: endpoint, timeout: .seconds(5), connectTimeout: .seconds(5))
        #expect(loop.failure(of: request)?.kind == "tls")
    }

    @Test("compressed replies arrive decoded, and a bomb is oversized")
    func compression() throws {
        let reply = loop.reply(to: try makeRequest())
        #expect(reply?.header("content-encoding") == "gzip" && text(reply).hasPrefix("one.example"))
        #expect(loop.failure(of: try makeRequest(target: "/bomb")) == .oversized)
        #expect(loop.reply(to: try makeRequest())?.status == 200)
    }

    @Test("a redirect is handed back and not followed")
    func redirect() throws {
        let reply = loop.reply(to: try makeRequest(target: "/moved"))
        #expect(reply?.status == 302 && reply?.header("location")?.hasSuffix("/elsewhere") == true)
    }

    @Test("a POST arrives over HTTP/2 with its body")
    func post() throws {
        let reply = loop.reply(to: try makeRequest(target: "/dns-query", method: .post))
        #expect(reply?.httpVersion == .http2 && reply?.header("x-body") == "abc")
        #expect(text(reply).hasSuffix("POST /passed-on"))
    }

    @Test("a reply tells how long its connection took, and which certificate it brought if that is wanted")
    func connectionDetails() throws {
        var request = try makeRequest()
        request = request.with(wantsCertificate: true)
        let reply = try #require(loop.reply(to: request))
        #expect(.zero < reply.connectTime && reply.connectTime < reply.handshakeTime)
        #expect(reply.handshakeTime < reply.totalTime)
        let certificate = try #require(reply.certificate)
        #expect(certificate.subject == "CN = one.example")
        #expect(certificate.issuer == "CN = Test CA" && certificate.notBefore < certificate.notAfter)
        let reused = try #require(loop.reply(to: request))
        #expect(reused.connectTime == .zero && reused.handshakeTime == .zero && reused.certificate == nil)
        request = request.with(needsOwnConnection: true, wantsCertificate: false)
        let unwanted = try #require(loop.reply(to: request))
        #expect(unwanted.handshakeTime > .zero && unwanted.certificate == nil)
    }

    @Test("renewed connections are new ones, and the counters go on")
    func renewal() throws {
        let request = try makeRequest()
        let before = text(loop.reply(to: request))
        loop.client.renewConnections(now: Clock.now())
        #expect(loop.client.connections.open == 0 && loop.watchedDescriptors == 0)
        let reply = loop.reply(to: request)
        #expect(reply?.newConnections == 1 && text(reply) != before)
        #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 2, reused: 0))
    }

    @Test("a request that wants a connection of its own neither takes an open one nor leaves one")
    func ownConnection() throws {
        let shared = try makeRequest()
        var own = shared
        own = own.with(needsOwnConnection: true)
        let requests = [shared, own, own, shared]
        #expect(requests.map { loop.reply(to: $0)?.newConnections } == [1, 1, 1, 0])
        #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 3, reused: 1))
    }

    @Test("idle connections are closed in time, and then no deadline is left")
    func idle() throws {
        let request = try makeRequest()
        #expect(loop.reply(to: request)?.status == 200)
        loop.client.timePassed(now: Clock.now())
        #expect(loop.client.connections.open == 1)
        loop.client.timePassed(now: Clock.now().advanced(by: .seconds(11)))
        #expect(loop.client.connections.open == 0 && loop.client.nextDeadline == nil)
        #expect(loop.reply(to: request)?.newConnections == 1)
    }

    @Test("how long a connection may be idle is the endpoint's own", arguments: [1, 30])
    func ownIdleTime(seconds: Int) throws {
        let endpoint = try #require(
            HTTPEndpoint(
                scheme: .https, host: "one.example", port: nginx.port, address: "127.0.0.1", caFile: nginx.caFile,
                idleSeconds: seconds))
        let request = TransferRequest(
            HTTPRequest(url: "/"), to: endpoint, timeout: .seconds(15), connectTimeout: .seconds(15))
        let busySince = Clock.now()
        #expect(loop.reply(to: request)?.status == 200)
        loop.client.timePassed(now: busySince.advanced(by: .seconds(seconds)))
        #expect(loop.client.connections(to: endpoint).open == 1)
        loop.client.timePassed(now: Clock.now().advanced(by: .seconds(seconds)))
        #expect(loop.client.connections(to: endpoint).open == 0)
    }

    @Test("a later connection resumes the session of an earlier one, but not in another network")
    func resumption() throws {
        let request = try makeRequest()
        let resumed = { loop.reply(to: request)?.header("X-Resumed") }
        #expect(resumed() == ".")
        for _ in 0..<2 {
            loop.skip(.seconds(HTTPEndpoint.defaultIdleSeconds + 1))
            #expect(loop.client.connections.open == 0)
            #expect(resumed() == "r")
        }
        loop.client.renewConnections(now: loop.now)
        #expect(resumed() == ".")
    }

    @Test("a certificate is verified anew after an hour, however often its session was resumed")
    func verificationAge() throws {
        let request = try makeRequest()
        let resumed = { loop.reply(to: request)?.header("X-Resumed") }
        #expect(resumed() == ".")
        for expected in ["r", "r", ".", "r"] {
            loop.skip(.seconds(1500))
            #expect(resumed() == expected)
        }
    }
}
