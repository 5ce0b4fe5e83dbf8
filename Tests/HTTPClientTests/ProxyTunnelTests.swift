// Conversations with proxies, byte by byte: requests, replies, and what a proxy does wrong.

import DNSWire
import Testing

@testable import HTTPClient

@Suite struct ProxyTunnelTests {
    private func makeTunnel(
        _ kind: HTTPProxy.Kind, address: String = "192.0.2.1", userName: String? = nil, password: String? = nil
    ) throws -> ProxyTunnel {
        let proxy = try #require(
            HTTPProxy(kind: kind, address: "127.0.0.1", port: 1080, userName: userName, password: password))
        return ProxyTunnel(to: SocketAddress(try #require(Address(address)), port: 443), through: proxy)
    }

    /// Passes the proxy's bytes one by one, then at once: both must have the same result.
    ///
    /// - Returns: the progress, the bytes to send after the first ones, and the proxy's bytes that are left over.
    private func converse(
        _ tunnel: ProxyTunnel, _ bytes: [UInt8]
    ) -> (progress: ProxyTunnel.Progress, sent: [UInt8], left: Int) {
        let results = [[bytes], bytes.map { [$0] }].map { pieces in
            var (tunnel, left, sent, progress) = (tunnel, 0, [UInt8](), ProxyTunnel.Progress.underWay)
            _ = tunnel.takeOutput()
            for piece in pieces {
                var start = 0
                progress = tunnel.receive(piece.span, from: &start)
                left += piece.count - start
                sent += tunnel.takeOutput()
            }
            if case .failed = progress { left = 0 }
            return (progress, sent, left)
        }
        #expect(results[0] == results[1])
        return results[0]
    }

    private func converse(_ tunnel: ProxyTunnel, _ text: String) -> (progress: ProxyTunnel.Progress, left: Int) {
        let result = converse(tunnel, Array(text.utf8))
        return (result.progress, result.left)
    }

    @Test("a CONNECT names the address twice, and the login if there is one")
    func connectRequest() throws {
        var tunnel = try makeTunnel(.connect)
        #expect(
            String(decoding: tunnel.takeOutput(), as: UTF8.self)
                == "CONNECT 192.0.2.1:443 HTTP/1.1\r\nHost: 192.0.2.1:443\r\n\r\n")
        tunnel = try makeTunnel(.connect, address: "2001:db8::1", userName: "Aladdin", password: "open sesame")
        // The example of RFC 7617 section 2.
        #expect(
            String(decoding: tunnel.takeOutput(), as: UTF8.self)
                == "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n"
                + "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n")
    }

    @Test("any 2xx opens the tunnel after its headers, and the bytes that follow are the endpoint's")
    func established() throws {
        let tunnel = try makeTunnel(.connect)
        for head in [
            "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 200 Connection established\r\nVia: x\r\n\r\n", "HTTP/1.1 299\n\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length:\r\nContent-Length: 1\r\n\r\n",
            "HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ] {
            #expect(converse(tunnel, head) == (.established, 0))
            #expect(converse(tunnel, head + "SSH-2.0") == (.established, 7))
            for count in 0..<head.utf8.count {
                #expect(converse(tunnel, Array(head.utf8.prefix(count))).progress == .underWay)
            }
        }
    }

    @Test("any other status is a failure at once", arguments: [300, 403, 407, 502])
    func refused(status: Int) throws {
        let tunnel = try makeTunnel(.connect)
        #expect(converse(tunnel, "HTTP/1.1 \(status) No\r\n").progress == .failed("status \(status)"))
    }

    @Test("a proxy that speaks otherwise, or without end, is a failure")
    func garbage() throws {
        let tunnel = try makeTunnel(.connect)
        #expect(converse(tunnel, "SSH-2.0-OpenSSH_9.2\r\n").progress == .failed("no status line of HTTP/1.1"))
        #expect(converse(tunnel, "HTTP/1.1 101 Switching\r\n").progress == .failed("status 101"))
        let long = "HTTP/1.1 200 OK\r\nA: " + String(repeating: "x", count: 20_000)
        #expect(converse(tunnel, long).progress == .failed("oversized"))
    }

    @Test("SOCKS without a login: method, address, port")
    func socks() throws {
        var tunnel = try makeTunnel(.socks5h)
        #expect(tunnel.takeOutput() == [5, 1, 0])
        let end: [UInt8] = [5, 0, 0, 1, 10, 0, 0, 1, 4, 56]
        let result = converse(try makeTunnel(.socks5h), [5, 0] + end + [1, 2, 3])
        #expect(result == (.established, [5, 1, 0, 1, 192, 0, 2, 1, 1, 187], 3))
        let v6 = converse(try makeTunnel(.socks5h, address: "2001:db8::1"), [5, 0] + end)
        #expect(v6.sent == [5, 1, 0, 4, 0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1, 1, 187])
    }

    @Test("SOCKS with a login sends it only if the proxy asks for it")
    func socksLogin() throws {
        var tunnel = try makeTunnel(.socks5h, userName: "me", password: "pw")
        #expect(tunnel.takeOutput() == [5, 2, 0, 2])
        let end: [UInt8] = [5, 0, 0, 1, 10, 0, 0, 1, 4, 56]
        let request: [UInt8] = [5, 1, 0, 1, 192, 0, 2, 1, 1, 187]
        tunnel = try makeTunnel(.socks5h, userName: "me", password: "pw")
        #expect(converse(tunnel, [5, 0] + end) == (.established, request, 0))
        let login: [UInt8] = [1, 2, 0x6D, 0x65, 2, 0x70, 0x77]
        #expect(converse(tunnel, [5, 2, 1, 0] + end) == (.established, login + request, 0))
        #expect(converse(tunnel, [5, 2, 1, 1]).progress == .failed("SOCKS login refused"))
    }

    @Test("the proxy's own address has the length of its type")
    func socksAddresses() throws {
        let tunnel = try makeTunnel(.socks5h)
        let ends: [[UInt8]] = [
            [5, 0, 0, 3, 2, 0x61, 0x62, 0, 1], [5, 0, 0, 3, 0, 0, 1], [5, 0, 0, 4] + [UInt8](repeating: 7, count: 18),
        ]
        for end in ends {
            #expect(converse(tunnel, [5, 0] + end + [9]).progress == .established)
            #expect(converse(tunnel, [5, 0] + end + [9]).left == 1)
            #expect(converse(tunnel, [5, 0] + end.dropLast()).progress == .underWay)
        }
    }

    @Test("a SOCKS proxy that refuses or speaks otherwise is a failure")
    func socksFailures() throws {
        let tunnel = try makeTunnel(.socks5h)
        let failures: [([UInt8], String)] = [
            ([4, 0], "not SOCKS version 5"), ([5, 255], "no SOCKS login method in common"),
            ([5, 2], "no SOCKS login method in common"), ([5, 0, 5, 5, 0, 1, 0], "SOCKS reply 5"),
            ([5, 0, 5, 0, 0, 2, 0], "a SOCKS address of type 2"), ([5, 0, 4, 0, 0, 1, 0], "not SOCKS version 5"),
        ]
        for (bytes, reason) in failures { #expect(converse(tunnel, bytes).progress == .failed(reason)) }
    }
}
