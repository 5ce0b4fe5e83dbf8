// Probes of servers that never get as far as a certificate.

import DNSWire
import Glibc
import LinuxIO
import Resolver
import Testing

@testable import Daemon

struct ProbesTests {
    private let stand: ProbeStand
    private var loop: EventLoop { stand.loop }
    private var probes: Probes { stand.probes }
    /// The first bytes of a longer ServerHello.
    private static let partialHello: [UInt8] = [0x16, 0x03, 0x03, 0x00, 0x7A, 0x02, 0x00, 0x00, 0x76, 0x03, 0x03]

    init() throws {
        stand = try ProbeStand()
    }

    // MARK: no connection

    @Test("a closed port refuses")
    func refused() throws {
        let port = try Listener(on: #require(SocketAddress("127.8.7.6:0"))).localAddress().port
        let result = try stand.found(stand.target(port, .v4(0x7F08_0706)))
        #expect(result == ProbeResult(.refused))
    }

    @Test("an address without a way to it is unreachable, and it is said that the way is missing here")
    func unreachable() throws {
        let result = try stand.found(stand.target(443, .v4(0x7FFF_FFFF)))
        #expect(result.verdict == .unreachable && result.detail.hasPrefix("no route: "))
    }

    @Test("a server that takes no connection is a timeout")
    func timeout() throws {
        let listener = try Listener(on: #require(SocketAddress("127.0.0.1:0")))
        #expect(listen(listener.descriptor.raw, 0) == 0)
        // The queue of the listener is full, so the kernel drops further connection attempts.
        let address = try listener.localAddress()
        let others = try [StreamSocket(connectingTo: address), StreamSocket(connectingTo: address)]
        let result = try stand.foundAtDeadline(stand.target(address.port)) { true }
        #expect(result == ProbeResult(.timeout))
        withExtendedLifetime((listener, others)) {}
    }

    // MARK: a connection alone

    @Test("where only a connection is wanted, it is made, timed and closed, and nothing is sent")
    func connection() throws {
        let listener = try Listener(on: #require(SocketAddress("127.0.0.1:0")))
        let port = try listener.localAddress().port
        // No certificate can have this name.
        let name = try #require(Name("_sip._tcp.example"))
        let result = try stand.found(ProbeTarget(name, ProbeStand.localhost, port: port, by: .connection))
        #expect(result.verdict == .connected && result.certificate == nil && result.handshakeTime == nil)
        #expect(result.connectTime.map { $0 >= .zero && $0 < .seconds(20) } ?? false)
        let peer = try #require(try listener.accept()).socket
        guard case .ended = try peer.read(maxBytes: 1) else { return #expect(Bool(false), "something was sent") }
    }

    @Test("a closed port refuses it")
    func refusedConnection() throws {
        let port = try Listener(on: #require(SocketAddress("127.8.7.6:0"))).localAddress().port
        let name = try #require(Name("www.example"))
        let result = try stand.found(ProbeTarget(name, .v4(0x7F08_0706), port: port, by: .connection))
        #expect(result == ProbeResult(.refused))
    }

    // MARK: a connection, and no handshake

    @Test("a connection that is reset before the ClientHello has been made, and was not refused")
    func resetOnConnect() throws {
        let listener = try Listener(on: #require(SocketAddress("127.0.0.1:0")))
        probes.start(ProbeID(1), try stand.target(listener.localAddress().port), now: Clock.now())
        var waiting = pollfd(fd: listener.descriptor.raw, events: Int16(POLLIN), revents: 0)
        try #require(unsafe poll(&waiting, 1, 20_000) == 1)
        // The socket is closed at the end of the line.
        try #require(try listener.accept()).socket.resetsWhenClosed()
        try stand.turn { probes.hasFinished }
        let result = try stand.onlyResult()
        #expect(result.verdict == .tlsReset && result.connectTime != nil)
    }

    @Test("an end after the ClientHello, by a FIN or an RST, is a reset")
    func reset() throws {
        for conduct in [ProbedServer.Conduct.ends, .resets] {
            let result = try stand.found(conduct)
            #expect(result.verdict == .tlsReset && result.detail.isEmpty)
        }
    }

    @Test("an end in the middle of the handshake is a reset, and it is said when it came")
    func cut() throws {
        let result = try stand.found(.answersAndEnds(ProbesTests.partialHello))
        #expect(result.verdict == .tlsReset && result.detail == "closed during the handshake")
    }

    @Test(
        "a server without TLS is reported, whichever side speaks first",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "SSH-2.0-OpenSSH_9.2p1\r\n", "\u{7F}\0\0\0",
        ])
    func notTLS(text: String) throws {
        let bytes = Array(text.utf8)
        #expect(try stand.found(.greets(bytes)).verdict == .notTLS)
        #expect(try stand.found(.answers(bytes)).verdict == .notTLS)
        #expect(try stand.found(.answersAndEnds(bytes)).verdict == .notTLS)
    }

    @Test("a megabyte of something else ends the probe as its first bytes do")
    func flood() throws {
        #expect(try stand.found(.answers([UInt8](repeating: 0x41, count: 1 << 20))).verdict == .notTLS)
    }

    @Test("an alert is told, even when the connection ends behind it")
    func alert() throws {
        let handshakeFailure: [UInt8] = [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28]
        for conduct in [ProbedServer.Conduct.answers(handshakeFailure), .answersAndEnds(handshakeFailure)] {
            let result = try stand.found(conduct)
            #expect(result.verdict == .tlsAlert && result.detail.contains("handshake failure"))
        }
    }

    @Test("a server that keeps silent has its time, and no more")
    func silent() throws {
        let server = try ProbedServer(.silent, loop)
        let result = try stand.foundAtDeadline(stand.target(server.port)) { !server.hello.isEmpty }
        #expect(result.verdict == .tlsTimeout && result.detail == "no answer to the ClientHello")
        #expect(result.connectTime != nil)
        #expect(server.hello.first == 0x16, "a ClientHello was sent")
    }

    @Test("a server that drips has its time, and no more")
    func drip() throws {
        let server = try ProbedServer(.silent, loop)
        let now = Clock.now()
        probes.start(ProbeID(1), try stand.target(server.port), now: now)
        try stand.turn { !server.hello.isEmpty }
        for byte in ProbesTests.partialHello {
            try server.say([byte])
            try loop.turn(until: Clock.now() + .seconds(20))
            try #require(!probes.hasFinished)
        }
        probes.timePassed(now: now + ProbeStand.timeout)
        let result = try stand.onlyResult()
        #expect(result.verdict == .tlsTimeout && result.detail == "the handshake timed out")
    }

    @Test("data that arrived by the deadline counts, even if it is read later")
    func lateLook() throws {
        let server = try ProbedServer(.silent, loop)
        let now = Clock.now()
        probes.start(ProbeID(1), try stand.target(server.port), now: now)
        try stand.turn { !server.hello.isEmpty }
        try server.say(Array("SSH-2.0-x\r\n".utf8))
        probes.timePassed(now: now + ProbeStand.timeout)
        #expect(try stand.onlyResult().verdict == .notTLS)
    }

    @Test("a deadline that is noticed much too late says nothing about the address")
    func sleep() throws {
        let server = try ProbedServer(.silent, loop)
        let now = Clock.now()
        probes.start(ProbeID(1), try stand.target(server.port), now: now)
        try stand.turn { !server.hello.isEmpty }
        probes.timePassed(now: now + ProbeStand.timeout + .seconds(3600))
        let result = try stand.onlyResult()
        #expect(result.verdict == .unprobed && result.detail == "this machine was too busy")
    }
}
