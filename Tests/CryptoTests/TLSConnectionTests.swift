// TLS connections for requests: the handshake refuses a certificate that is not valid for the name, and data passes in
// both directions.

import Crypto
import TestSupport
import Testing

@testable import TestTLS

struct TLSConnectionTests {
    private let root: TestCertificate
    private let context: TLSContext
    /// The folder that holds the context's file.
    private let folder = TemporaryFolder()

    /// Certificates that are valid at any time, because a connection reads the machine's clock.
    private static func terms(_ names: String) -> CertificateTerms {
        CertificateTerms(names: names, notBefore: 0, notAfter: 4_000_000_000)
    }

    init() throws {
        var authority = Self.terms("")
        (authority.subject, authority.isAuthority) = ("trusted root", true)
        root = TestCertificate(authority)
        let file = folder("ca.pem")
        folder.write(root.pem, to: file)
        context = try TLSContext(caFile: file, protocols: ["h2", "http/1.1"], for: .requests)
    }

    private func connection(to name: String) throws -> TLSConnection {
        try TLSConnection(context, serverName: name, verifiedName: name, resuming: nil)
    }

    /// - Parameter cut: the number of bytes that the client gets at a time.
    private func shakeHands(
        _ client: TLSConnection, with server: MemoryServer, cut: Int = .max
    ) -> TLSConnection.Handshake {
        var progress = client.shakeHands()
        while progress == .underWay {
            var bytes = server.reply(to: client.takeOutgoing())[...]
            guard !bytes.isEmpty else { return progress }
            while progress == .underWay, !bytes.isEmpty {
                client.receive(Array(bytes.prefix(cut)).span)
                bytes = bytes.dropFirst(cut)
                progress = client.shakeHands()
            }
            if !bytes.isEmpty { client.receive(Array(bytes).span) }
        }
        return progress
    }

    private func server(_ terms: CertificateTerms, by issuer: TestCertificate? = nil) -> MemoryServer {
        MemoryServer([TestCertificate(terms, issuer: issuer ?? root)], .init(protocolName: "h2"))
    }

    @Test("a valid certificate, however the bytes are split", arguments: [Int.max, 1, 100])
    func valid(cut: Int) throws {
        let client = try connection(to: "www.example.com")
        #expect(shakeHands(client, with: server(Self.terms("DNS:*.example.com")), cut: cut) == .done)
        #expect(client.protocolName == "h2")
    }

    @Test("the key exchange is OpenSSL's best, post-quantum if it has it")
    func keyExchange() throws {
        let client = try connection(to: "www.example.com")
        #expect(client.keyExchange == nil)
        #expect(shakeHands(client, with: server(Self.terms("DNS:www.example.com")), cut: .max) == .done)
        let isPostQuantum = TLSContext.hasGroup(TLSContext.postQuantumGroup)
        #expect(client.keyExchange?.lowercased() == (isPostQuantum ? "x25519mlkem768" : "x25519"))
        #expect(TLSContext.hasGroup("X25519") && !TLSContext.hasGroup("X25520"))
        #expect(TLSContext.libraryVersion.hasPrefix("3."))
    }

    @Test(
        "a certificate for another name or address",
        arguments: [
            ("DNS:www.example.org", "www.example.com", "hostname mismatch"),
            ("DNS:w*.example.com", "www.example.com", "hostname mismatch"),
            ("IP:192.0.2.1", "192.0.2.2", "IP address mismatch"),
            ("DNS:192.0.2.2", "192.0.2.2", "IP address mismatch"),
        ])
    func wrongName(names: String, asked: String, reason: String) throws {
        let client = try connection(to: asked)
        #expect(shakeHands(client, with: server(Self.terms(names))) == .failed("SSL certificate problem: \(reason)"))
        #expect(!client.takeOutgoing().isEmpty, "the server gets an alert")
    }

    @Test("a name in the subject alone does not count", arguments: ["", "IP:192.0.2.1"])
    func subjectOnly(names: String) throws {
        var terms = Self.terms(names)
        terms.subject = "www.example.com"
        let failure = TLSConnection.Handshake.failed("SSL certificate problem: hostname mismatch")
        #expect(shakeHands(try connection(to: "www.example.com"), with: server(terms)) == failure)
    }

    @Test("a certificate for an address")
    func address() throws {
        let client = try TLSConnection(context, serverName: nil, verifiedName: "192.0.2.1", resuming: nil)
        #expect(shakeHands(client, with: server(Self.terms("IP:192.0.2.1"))) == .done)
    }

    @Test("a certificate that has expired, and one of an unknown authority")
    func untrusted() throws {
        var terms = Self.terms("DNS:www.example.com")
        let own = TestCertificate(terms)
        let stranger = MemoryServer([own], .init(protocolName: "h2"))
        let ofStranger = shakeHands(try connection(to: "www.example.com"), with: stranger)
        #expect(ofStranger == .failed("SSL certificate problem: self-signed certificate"))
        terms.notAfter = 1_000_000_000
        let ofExpired = shakeHands(try connection(to: "www.example.com"), with: server(terms))
        #expect(ofExpired == .failed("SSL certificate problem: certificate has expired"))
    }

    @Test("data both ways, and the end")
    func data() throws {
        let (client, server) = (try connection(to: "a.example"), server(Self.terms("DNS:a.example")))
        #expect(shakeHands(client, with: server) == .done)
        var room = [UInt8](repeating: 0, count: 100)
        #expect(client.read(over: &room) == .needsMore)
        #expect(client.send([1, 2, 3]) == nil)
        client.receive(server.reply(to: client.takeOutgoing()).span)
        #expect(server.received == [1, 2, 3])
        client.receive(server.send([4, 5]).span)
        #expect(client.read(over: &room) == .bytes(2))
        #expect(room.prefix(2) == [4, 5])
        client.receive(server.close().span)
        #expect(client.read(over: &room) == .closed)
    }

    @Test("a server that demands new keys again and again, and reads nothing, costs no memory")
    func manyKeys() throws {
        let (client, server) = (try connection(to: "a.example"), server(Self.terms("DNS:a.example")))
        #expect(shakeHands(client, with: server) == .done)
        _ = server.reply(to: client.takeOutgoing())
        var room = [UInt8](repeating: 0, count: 100)
        var reading = TLSConnection.Reading.needsMore
        var asked = 0
        for _ in 0..<10_000 where reading == .needsMore {
            let request = server.askForNewKeys()
            asked += request.count
            client.receive(request.span)
            reading = client.read(over: &room)
        }
        #expect(asked > 0)
        #expect(client.takeOutgoing().count < 4096)
    }

    @Test("a server that never finishes its handshake")
    func endless() throws {
        let client = try connection(to: "a.example")
        _ = client.shakeHands()
        // Records of a handshake message whose length is the largest possible.
        let content: [UInt8] = [2, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 16_380)
        let record: [UInt8] = [22, 3, 3, 0x40, 0] + content
        var progress = TLSConnection.Handshake.underWay
        for _ in 0..<9 where progress == .underWay {
            client.receive(record.span)
            progress = client.shakeHands()
        }
        #expect(progress != .underWay && progress != .done)
    }
}

extension TLSConnection {
    fileprivate func takeOutgoing() -> [UInt8] {
        var bytes: [UInt8] = []
        takeOutgoing(into: &bytes)
        return bytes
    }
}
