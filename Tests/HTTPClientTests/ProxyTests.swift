// Requests through a proxy: the proxy's view of them, the checks at the end of the tunnel, and the failures for the
// proxy's refusals.

import DNSWire
import HTTPClient
import LinuxIO
import Testing

@Suite struct ProxyTests {
    private let loop = PollLoop()
    private static let established = "HTTP/1.1 200 Established\r\nX-Proxy: yes\r\n\r\n"
    /// A password with characters that a URL must encode, and with one that looks encoded already.
    private static let password = "p@:/ %41\u{e9}"

    private func makeRequest(
        _ kind: HTTPProxy.Kind, _ proxyPort: UInt16, to port: UInt16 = 9, address: String = "127.0.0.1",
        withLogin: Bool = false, timeout: Duration = .seconds(10)
    ) throws -> TransferRequest {
        let proxy = try #require(
            HTTPProxy(
                kind: kind, address: "127.0.0.1", port: proxyPort, userName: withLogin ? "user" : nil,
                password: withLogin ? ProxyTests.password : nil))
        let endpoint = try #require(
            HTTPEndpoint(scheme: .http, host: "provider.example", port: port, address: address, proxy: proxy))
        return TransferRequest(HTTPRequest(url: "/"), to: endpoint, timeout: timeout, connectTimeout: timeout)
    }

    private func failure(
        _ kind: HTTPProxy.Kind, _ script: [StubServer.Step], withLogin: Bool = false,
        timeout: Duration = .seconds(10)
    ) throws -> TransferFailure? {
        var failure: TransferFailure?
        try StubServer.with(script) { server in
            failure = loop.failure(
                of: try makeRequest(kind, server.port, withLogin: withLogin, timeout: timeout))
        }
        #expect(loop.watchedDescriptors == 0 && loop.client.connections.open == 0)
        return failure
    }

    /// The client's reply from a provider, fetched through a proxy that plays the script and then connects.
    private func throughProxy(
        _ kind: HTTPProxy.Kind, _ script: [StubServer.Step], withLogin: Bool = false
    ) throws -> (reply: TransferReply?, proxy: [[UInt8]], provider: [String], port: UInt16) {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
        var result: (TransferReply?, [[UInt8]], [String], UInt16) = (nil, [], [], 0)
        try StubServer.with([.awaitRequest, .send(answer)]) { provider in
            try StubServer.with(script + [.relay(provider.port)]) { proxy in
                let request = try makeRequest(kind, proxy.port, to: provider.port, withLogin: withLogin)
                result = (loop.reply(to: request), proxy.received, provider.requests, provider.port)
            }
        }
        return result
    }

    @Test("a CONNECT names the dialled address, and the request goes through the tunnel as without a proxy")
    func connect() throws {
        let (reply, proxy, provider, port) = try throughProxy(
            .connect, [.awaitRequest, .send(ProxyTests.established)])
        #expect(reply?.body == Array("hi".utf8) && reply?.header("X-Proxy") == nil && reply?.newConnections == 1)
        let asked = String(decoding: try #require(proxy.first), as: UTF8.self)
        #expect(asked.hasPrefix("CONNECT 127.0.0.1:\(port) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"))
        #expect(!asked.contains("provider.example") && !asked.contains("Proxy-Authorization"))
        #expect(provider.first?.hasPrefix("GET / HTTP/1.1\r\nHost: provider.example:\(port)\r\n") == true)
    }

    @Test("credentials are sent to a CONNECT proxy at once, and not to the provider")
    func connectLogin() throws {
        let (reply, proxy, provider, _) = try throughProxy(
            .connect, [.awaitRequest, .send(ProxyTests.established)], withLogin: true)
        #expect(reply?.status == 200)
        // The expected value comes from: printf 'user:p@:/ %%41é' | base64
        let asked = String(decoding: try #require(proxy.first), as: UTF8.self)
        #expect(asked.contains("Proxy-Authorization: Basic dXNlcjpwQDovICU0McOp\r\n"))
        #expect(provider.first?.contains("uthorization") == false)
    }

    @Test("a SOCKS proxy is told the dialled address and not asked to look up a name")
    func socks() throws {
        let connected: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        let (reply, proxy, provider, port) = try throughProxy(
            .socks5h, [.awaitBytes(3), .sendBytes([5, 0]), .awaitBytes(10), .sendBytes(connected)])
        #expect(reply?.body == Array("hi".utf8))
        #expect(proxy == [[5, 1, 0], [5, 1, 0, 1, 127, 0, 0, 1, UInt8(port >> 8), UInt8(port & 255)]])
        #expect(provider.first?.contains("Host: provider.example:\(port)\r\n") == true)
    }

    @Test("credentials are sent to a SOCKS proxy that wants them")
    func socksLogin() throws {
        let login = [1, 4] + Array("user".utf8) + [10] + Array(ProxyTests.password.utf8)
        let (reply, proxy, _, _) = try throughProxy(
            .socks5h,
            [
                .awaitBytes(4), .sendBytes([5, 2]), .awaitBytes(login.count), .sendBytes([1, 0]), .awaitBytes(10),
                .sendBytes([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
            ], withLogin: true)
        #expect(reply?.status == 200 && proxy.prefix(2) == [[5, 2, 0, 2], login])
    }

    @Test("an IPv6 address goes to a proxy in the form that the protocol has for it")
    func ipv6() throws {
        try StubServer.with([.awaitRequest, .send("HTTP/1.1 503 No\r\n\r\n")]) { proxy in
            let request = try makeRequest(.connect, proxy.port, address: "2001:db8::1")
            #expect(loop.failure(of: request) == .proxy("status 503"))
            #expect(proxy.requests.first?.hasPrefix("CONNECT [2001:db8::1]:9 HTTP/1.1\r\n") == true)
        }
        try StubServer.with([.awaitBytes(3), .sendBytes([5, 0]), .awaitBytes(22)]) { proxy in
            let request = try makeRequest(.socks5h, proxy.port, address: "2001:db8::1")
            #expect(loop.failure(of: request)?.kind == "proxy")
            let literal: [UInt8] = [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
            #expect(proxy.received.last == [5, 1, 0, 4] + literal + [0, 9])
        }
    }

    @Test("a CONNECT that is refused is the proxy's failure, with its status", arguments: [403, 407, 429, 502])
    func refusedConnect(status: Int) throws {
        let answer = "HTTP/1.1 \(status) No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 2\r\n\r\nno"
        let script: [StubServer.Step] = [.awaitRequest, .send(answer)]
        #expect(try failure(.connect, script, withLogin: true) == .proxy("status \(status)"))
        #expect(try failure(.connect, script) == .proxy("status \(status)"))
    }

    @Test(
        "a SOCKS proxy that refuses is the proxy's failure",
        arguments: [
            [.awaitBytes(4), .sendBytes([5, 255])],
            [.awaitBytes(4), .sendBytes([5, 2]), .awaitBytes(16), .sendBytes([1, 1])],
            [.awaitBytes(4), .sendBytes([5, 0]), .awaitBytes(10), .sendBytes([5, 5, 0, 1, 0, 0, 0, 0, 0, 0])],
            [.awaitBytes(4), .send("HTTP/1.1 400 Bad Request\r\n\r\n")],
            [.awaitBytes(4)],
        ] as [[StubServer.Step]])
    func refusedSocks(script: [StubServer.Step]) throws {
        let failure = try failure(.socks5h, script, withLogin: true)
        #expect(failure?.kind == "proxy" && !"\(String(describing: failure))".contains("p@"))
    }

    @Test(
        "a proxy that hangs up or speaks another protocol is the proxy's failure",
        arguments: [
            [.awaitRequest], [.awaitRequest, .reset], [.awaitRequest, .send("SSH-2.0-OpenSSH_9.2\r\n\r\n")],
            [.awaitRequest, .send("HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\n\r\n")],
        ] as [[StubServer.Step]])
    func garbage(script: [StubServer.Step]) throws {
        #expect(try failure(.connect, script)?.kind == "proxy")
        #expect(try failure(.connect, script, withLogin: true)?.kind == "proxy")
    }

    @Test("a closed port is the proxy's failure, and a silent proxy ends as timeout")
    func unreachable() throws {
        for kind in [HTTPProxy.Kind.connect, .socks5h] {
            let closed = Sockets.closedPorts[0]
            #expect(loop.failure(of: try makeRequest(kind, closed)) == .proxy("no connection: refused"))
            #expect(try failure(kind, [.hang], timeout: .milliseconds(80)) == .timeout)
        }
    }

    @Test("through either kind of proxy, TLS is with the provider: SNI, checked name, Host and HTTP/2 as without")
    func identity() throws {
        let nginx = Nginx()
        let socks: [StubServer.Step] = [
            .awaitBytes(3), .sendBytes([5, 0]), .awaitBytes(10), .sendBytes([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
        ]
        let connect: [StubServer.Step] = [.awaitRequest, .send(ProxyTests.established)]
        for (kind, script) in [(HTTPProxy.Kind.connect, connect), (.socks5h, socks)] {
            try StubServer.with(script + [.relay(nginx.port)]) { server in
                let proxy = try #require(HTTPProxy(kind: kind, address: "127.0.0.1", port: server.port))
                let endpoint = { (verifyName: String) in
                    HTTPEndpoint(
                        scheme: .https, host: "api.example", port: nginx.port, address: "127.0.0.1",
                        sni: "one.example", verifyName: verifyName, hostHeader: "third.example",
                        caFile: nginx.caFile, proxy: proxy)
                }
                let request = TransferRequest(
                    HTTPRequest(url: "/"), to: try #require(endpoint("one.example")), timeout: .seconds(15),
                    connectTimeout: .seconds(15))
                let reply = loop.reply(to: request)
                #expect(reply?.httpVersion == .http2)
                let body = String(decoding: reply?.body ?? [], as: UTF8.self)
                #expect(body.contains("host=third.example sni=one.example "))
                #expect(loop.reply(to: request)?.connectionWasReused == true)
                loop.client.renewConnections(now: Clock.now())
                let other = try #require(endpoint("two.example"))
                let wrong = request.with(endpoint: other)
                #expect(loop.failure(of: wrong)?.kind == "tls")
            }
        }
    }

    @Test("a proxy with a part that is wrong does not exist, and a password is not shown")
    func parts() throws {
        let make = { (address: String, userName: String?, password: String?) in
            HTTPProxy(kind: .socks5h, address: address, port: 1080, userName: userName, password: password)
        }
        let long = String(repeating: "x", count: 256)
        #expect(make("::1", "user", String(long.dropLast())) != nil && make("127.0.0.1", nil, nil) != nil)
        #expect(make("proxy.example", nil, nil) == nil && make("[::1]", nil, nil) == nil)
        #expect(HTTPProxy(kind: .connect, address: "127.0.0.1", port: 0) == nil)
        #expect(make("::1", nil, "secret") == nil && make("::1", "", "secret") == nil)
        #expect(make("::1", "a:b", nil) == nil && make("::1", "a", "b\r\n") == nil && make("::1", "a", "\0") == nil)
        #expect(make("::1", long, nil) == nil && make("::1", "a", long) == nil)
        let proxy = try #require(make("::1", "user", "secret"))
        let endpoint = HTTPEndpoint(scheme: .http, host: "a.example", port: 80, address: "::1", proxy: proxy)
        #expect("\(proxy)" == "socks5h://[::1]:1080" && !String(reflecting: endpoint).contains("secret"))
    }
}
