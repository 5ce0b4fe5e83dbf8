// A handshake between a client and a server until neither has anything to send, and the client's result.

import COpenSSL
import Crypto
import TestSupport
import Testing

@testable import TestTLS

/// An authority that clients trust, and one that they do not know.
struct Authorities {
    let trusted: [TestCertificate]
    /// The first trusted authority.
    let root: TestCertificate
    let stranger: TestCertificate
    let context: TLSContext
    /// The folder that holds the context's file.
    private let folder = TemporaryFolder()

    init(protocols: [String] = ["h2", "http/1.1"], trusted: [CertificateTerms] = [Authorities.rootTerms]) throws {
        stranger = TestCertificate(CertificateTerms(subject: "unknown root", isAuthority: true))
        self.trusted = trusted.map { TestCertificate($0) }
        root = try #require(self.trusted.first)
        let file = folder("ca.pem")
        folder.write(self.trusted.flatMap(\.pem), to: file)
        context = try TLSContext(caFile: file, protocols: protocols)
    }

    static let rootTerms = CertificateTerms(subject: "trusted root", isAuthority: true)

    func intermediate() -> TestCertificate {
        TestCertificate(CertificateTerms(subject: "intermediate", isAuthority: true), issuer: root)
    }

    /// The peer that the client finds at a server with this chain.
    func peer(
        _ chain: [TestCertificate], name: String = "www.example.com", now: Int64 = TestCertificate.now,
        _ terms: MemoryServer.Terms = MemoryServer.Terms()
    ) throws -> TLSPeer {
        let progress = try conversation(chain, name: name, now: now, terms).first
        guard case .done(let peer) = progress else {
            throw TestFailure(description: "\(String(describing: progress))")
        }
        return peer
    }

    func conversation(
        _ chain: [TestCertificate], name: String = "www.example.com", now: Int64 = TestCertificate.now,
        _ terms: MemoryServer.Terms = MemoryServer.Terms(), cut: Int = .max
    ) throws -> [TLSHandshake.Progress] {
        let server = MemoryServer(chain, terms)
        var client = try TLSHandshake(context, name: name, nowSeconds: now)
        return client.talk(with: server, cut: cut)
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String
}

extension TLSHandshake {
    /// - Parameters:
    ///   - cut: the number of bytes that the client gets at a time.
    ///   - tamper: changes the server's bytes on their way.
    /// - Returns: all progress except `underWay`.
    mutating func talk(
        with server: MemoryServer, cut: Int = .max, tamper: (inout [UInt8]) -> Void = { _ in }
    ) -> [Progress] {
        var all: [Progress] = []
        while true {
            let outgoing = takeOutgoing()
            var reply = server.reply(to: outgoing)
            if outgoing.isEmpty && reply.isEmpty { return all }
            tamper(&reply)
            all += hear(reply, cut: cut)
            if all.last?.isEnd == true { return all }
        }
    }

    /// - Returns: all progress except `underWay`, and the end once.
    mutating func hear(_ bytes: [UInt8], cut: Int = .max) -> [Progress] {
        var all: [Progress] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            all += hearOnce(Array(rest.prefix(cut)))
            if all.last?.isEnd == true { break }
            rest = rest.dropFirst(cut)
        }
        return all
    }

    private mutating func hearOnce(_ bytes: [UInt8]) -> [Progress] {
        defer { #expect(ERR_peek_error() == 0, "nothing is left for OpenSSL's next caller") }
        var all: [Progress] = []
        var progress = receive(bytes.span)
        while progress != .underWay {
            all.append(progress)
            guard !progress.isEnd else { break }
            progress = receive(Span())
        }
        return all
    }
}

extension TLSHandshake.Progress {
    var isEnd: Bool {
        switch self {
        case .closed, .failed: true
        case .underWay, .done, .data: false
        }
    }
}
