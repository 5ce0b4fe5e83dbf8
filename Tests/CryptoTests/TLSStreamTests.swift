// The bytes on both sides of a handshake: cut at any place, ended at any place, and data after the handshake.

import Crypto
import TestSupport
import Testing

@testable import TestTLS

struct TLSStreamTests {
    private let authorities: Authorities
    private let chain: [TestCertificate]

    init() throws {
        authorities = try Authorities()
        let intermediate = authorities.intermediate()
        let leaf = TestCertificate(CertificateTerms(names: "DNS:www.example.com"), issuer: intermediate)
        chain = [leaf, intermediate]
    }

    private func client() throws -> TLSHandshake {
        try TLSHandshake(authorities.context, name: "www.example.com", nowSeconds: TestCertificate.now)
    }

    @Test("pieces of every size give the same outcome", arguments: TLSVersion.allCases)
    func pieces(version: TLSVersion) throws {
        let terms = MemoryServer.Terms(highest: version.number, protocolName: "http/1.1")
        let whole = try authorities.conversation(chain, terms)
        #expect(whole.count == 1)
        for cut in [1, 2, 3, 4, 5, 6, 7, 63, 64, 65, 500] {
            #expect(try authorities.conversation(chain, terms, cut: cut) == whole, "\(cut) bytes at a time")
        }
    }

    @Test("a server that stops anywhere is waited for, and nothing is done before its last byte")
    func truncations() throws {
        for version in TLSVersion.allCases {
            let total = try talk(version, stoppingAt: .max)
            for stop in stride(from: 0, to: total, by: 1) { _ = try talk(version, stoppingAt: stop) }
        }
    }

    /// - Returns: the number of bytes that the server had sent when the client was done.
    private func talk(_ version: TLSVersion, stoppingAt stop: Int) throws -> Int {
        let server = MemoryServer(chain, .init(highest: version.number))
        var client = try client()
        var sent = 0
        while true {
            let reply = server.reply(to: client.takeOutgoing())
            let piece = Array(reply.prefix(stop - sent))
            let progress = client.hear(piece)
            guard stop != .max else {
                sent += reply.count
                if case .done = progress.first { return sent }
                continue
            }
            // The signature of the last handshake may have been longer.
            #expect(progress.isEmpty || piece.count == reply.count, "stopped at \(stop)")
            if piece.count < reply.count || reply.isEmpty { return sent }
            sent += reply.count
        }
    }

    @Test("both sides can talk when it is done", arguments: TLSVersion.allCases)
    func bothWays(version: TLSVersion) throws {
        let server = MemoryServer(chain, .init(highest: version.number))
        var client = try client()
        #expect(client.talk(with: server).count == 1)
        let request = Array("HEAD / HTTP/1.1\r\n\r\n".utf8)
        client.send(request)
        client.send([])
        client.send(request)
        #expect(client.hear(server.reply(to: client.takeOutgoing())).isEmpty)
        #expect(server.received == request + request)
        let long = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(client.hear(server.send(long)) == [.data(long)])
        #expect(joined(client.hear(server.send(long), cut: 1_000)) == long)
        #expect(client.hear(server.send([1]) + server.close()) == [.data([1]), .closed])
        #expect(client.hear([1, 2, 3]) == [.closed])
        client.send(request)
        #expect(server.reply(to: client.takeOutgoing()).isEmpty && server.received.count == 2 * request.count)
    }

    private func joined(_ progress: [TLSHandshake.Progress]) -> [UInt8] {
        progress.flatMap { step in
            if case .data(let bytes) = step { return bytes }
            return []
        }
    }

    @Test("what comes together with the end of the handshake is not lost")
    func together() throws {
        let server = MemoryServer(chain, .init(highest: TLSVersion.tls12.number))
        var client = try client()
        #expect(client.hear(server.reply(to: client.takeOutgoing())).isEmpty)
        let last = server.reply(to: client.takeOutgoing())
        let progress = client.hear(last + server.send([7, 8]) + server.close())
        #expect(progress.count == 3)
        #expect(Array(progress.dropFirst()) == [.data([7, 8]), .closed])
    }

    @Test("new keys are taken, another handshake is not")
    func requestsOfServer() throws {
        let modern = MemoryServer(chain)
        var client = try client()
        _ = client.talk(with: modern)
        for round in 0..<100 {
            #expect(client.hear(modern.askForNewKeys()).isEmpty)
            _ = modern.reply(to: client.takeOutgoing())
            #expect(client.hear(modern.send([UInt8(round)])) == [.data([UInt8(round)])])
        }
        let old = MemoryServer(chain, .init(highest: TLSVersion.tls12.number))
        var other = try self.client()
        _ = other.talk(with: old)
        _ = other.hear(old.askForAnotherHandshake())
        // The client sends a warning alert, not a ClientHello.
        #expect(other.takeOutgoing().first == 21)
    }

    @Test("bytes that were changed on the way, and bytes that are no record, fail after the handshake as well")
    func damaged() throws {
        for version in TLSVersion.allCases {
            let server = MemoryServer(chain, .init(highest: version.number))
            var client = try client()
            _ = client.talk(with: server)
            var bytes = server.send([1, 2, 3])
            bytes[bytes.count - 1] ^= 1
            guard case .failed(.alert) = client.hear(bytes).last else {
                Issue.record("no failure")
                continue
            }
            var other = try self.client()
            _ = other.talk(with: MemoryServer(chain, .init(highest: version.number)))
            guard case .failed(.alert) = other.hear(Array("HTTP/1.1".utf8)).last else {
                Issue.record("no failure")
                continue
            }
        }
    }

    @Test("no handshake is a resumed one: each asks for a certificate anew")
    func noResumption() throws {
        for version in TLSVersion.allCases {
            for _ in 0..<2 {
                let server = MemoryServer(chain, .init(highest: version.number))
                var client = try client()
                let hello = client.takeOutgoing()
                // Extension 41 is pre_shared_key, 35 session_ticket.
                let extensions = try ClientHello.extensions(of: hello)
                #expect(
                    extensions.isSuperset(of: [0, 10, 13, 16, 43, 51]) && extensions.isDisjoint(with: [35, 41, 42]))
                #expect(client.hear(server.reply(to: hello)).count == (version == .tls13 ? 1 : 0))
            }
        }
    }

    @Test("ALPN settles on one of the offers or on none", arguments: ["h2", "http/1.1", nil])
    func protocols(name: String?) throws {
        #expect(try authorities.peer(chain, .init(protocolName: name)).protocolName == name)
        let silent = try Authorities(protocols: [])
        #expect(try silent.peer(chain, .init(protocolName: name)).protocolName == nil)
    }

    @Test("a protocol that was not offered is none, or the end")
    func unofferedProtocol() throws {
        switch try authorities.conversation(chain, .init(protocolName: "h3")).first {
        case .done(let peer): #expect(peer.protocolName == nil)
        case .failed(let failure): #expect(failure == .alert("bad extension"))
        default: Issue.record("no outcome")
        }
    }
}

private enum ClientHello {
    /// The extensions of a ClientHello that fills one record (RFC 8446, 4.1.2).
    static func extensions(of record: [UInt8]) throws -> Set<Int> {
        var place = 5 + 4 + 2 + 32
        func number(_ bytes: Int) throws -> Int {
            defer { place += bytes }
            let digits = record.dropFirst(place).prefix(bytes)
            try #require(digits.count == bytes)
            return digits.reduce(0) { $0 << 8 + Int($1) }
        }
        place += try number(1)
        place += try number(2)
        place += try number(1)
        let end = try number(2) + place
        try #require(end == record.count)
        var found: Set<Int> = []
        while place < end {
            found.insert(try number(2))
            place += try number(2)
        }
        return found
    }
}
