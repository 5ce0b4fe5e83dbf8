// Sockets that a service manager hands over. The tests use descriptor numbers that are free in the test process in
// place of those from 3 on.

import DNSWire
import Glibc
import TestSupport
import Testing

@testable import LinuxIO

@Suite("Sockets that are handed over")
struct InheritedSocketsTests {
    @Test("UDP and TCP sockets are taken as they are, and each variable is taken away")
    func taken() throws {
        let address = try #require(SocketAddress("127.0.0.1:0"))
        try handOver(bound(address, SOCK_DGRAM), as: 700)
        try handOver(bound(address, SOCK_STREAM, listens: true), as: 701)
        var asked: [String] = []
        let sockets = InheritedSockets(first: 700) { name in
            asked.append(name)
            return ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "2"][name]
        }
        defer { withExtendedLifetime(sockets) {} }
        #expect(sockets.unusable == [])
        #expect(sockets.datagrams.count == 1 && sockets.listeners.count == 1)
        #expect(sockets.datagrams.first?.address.port != 0)
        for number in Int32(700)...701 {
            #expect(fcntl(number, F_GETFD) == FD_CLOEXEC)
            #expect(fcntl(number, F_GETFL) & O_NONBLOCK != 0)
        }
        #expect(Set(asked) == ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"])
    }

    @Test("what is of no use is named, with what to do")
    func unusable() throws {
        let (four, six) = (try #require(SocketAddress("127.0.0.1:0")), try #require(SocketAddress("[::]:0")))
        try handOver(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0), as: 710)
        try handOver(bound(four, SOCK_STREAM), as: 711)
        try handOver(bound(six, SOCK_DGRAM), as: 712)
        try handOver(unsafe open("/dev/null", O_RDONLY), as: 713)
        let sockets = InheritedSockets(first: 710) { name in
            ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "5", "LISTEN_FDNAMES": "control::dns"][name]
        }
        #expect(sockets.datagrams.isEmpty && sockets.listeners.isEmpty && !sockets.isEmpty)
        let starts = [
            "descriptor 710 (control) is a UNIX socket; take it out", "descriptor 711 is a connection",
            "descriptor 712 (dns) takes IPv4 at [::]:", "descriptor 713 can't be used as a socket",
            "descriptor 714 is not open",
        ]
        #expect(sockets.unusable.count == starts.count)
        for (text, start) in zip(sockets.unusable, starts) { #expect(text.hasPrefix(start), "\(text)") }
    }

    /// The numbers of the descriptors begin at `first`; each is a socket that `make` returns.
    private func kept(
        first: Int32, as kind: KeptKind, _ descriptors: [Int32]
    ) throws -> (all: InheritedSockets, kept: KeptSockets) {
        for (place, descriptor) in descriptors.enumerated() { try handOver(descriptor, as: first + Int32(place)) }
        let names = descriptors.map { _ in kind.rawValue }.joined(separator: ":")
        var all = InheritedSockets(first: first) { name in
            ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "\(descriptors.count)", "LISTEN_FDNAMES": names][name]
        }
        let kept = all.takeKept()
        return (all, kept)
    }

    @Test func `sockets of the store are told apart from those of a socket unit by their name`() throws {
        let address = try #require(SocketAddress("127.0.0.1:0"))
        let datagrams = try DatagramSocket(serving: address)
        let listener = try Listener(on: address)
        let descriptors = [datagrams.descriptor.raw, listener.descriptor.raw].map(dup)
        let (all, kept) = try kept(first: 720, as: .bound, descriptors)
        #expect(all.isEmpty && kept.unusableCount == 0 && kept.connections.isEmpty)
        #expect(kept.datagrams.map(\.address) == [try datagrams.localAddress()])
        #expect(kept.listeners.map(\.address) == [try listener.localAddress()])
        #expect(fcntl(720, F_GETFD) == FD_CLOEXEC && fcntl(721, F_GETFL) & O_NONBLOCK != 0)
    }

    @Test func `a kept connection goes on, with what its client has sent`() throws {
        let listener = try Listener(on: try #require(SocketAddress("127.0.0.1:0")))
        let client = try StreamSocket(connectingTo: listener.localAddress())
        var accepted: StreamSocket?
        while accepted == nil { accepted = try listener.accept()?.socket }
        _ = try client.write([1, 2, 3].span)
        let descriptor = dup(try #require(accepted).descriptor.raw)
        accepted = nil
        let (_, kept) = try kept(first: 730, as: .connection, [descriptor])
        let connection = try #require(kept.connections.first)
        #expect(connection.peer == (try client.localAddress()) && kept.unusableCount == 0)
        var received = StreamSocket.ReadOutcome.wouldBlock
        while received == .wouldBlock { received = try connection.socket.read(maxBytes: 9) }
        #expect(received == .bytes([1, 2, 3]))
    }

    @Test func `what the store has beside the daemon's own sockets is closed`() throws {
        let (four, six) = (try #require(SocketAddress("127.0.0.1:0")), try #require(SocketAddress("[::1]:0")))
        let connected = try DatagramSocket(connectedTo: try #require(SocketAddress("127.0.0.1:9")))
        let (all, kept) = try kept(
            first: 740, as: .bound,
            [
                socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0), unsafe open("/dev/null", O_RDONLY),
                // Without SO_REUSEPORT, for IPv4 on IPv6, connected, and no listener.
                bound(four, SOCK_DGRAM), bound(six, SOCK_DGRAM), dup(connected.descriptor.raw),
                bound(four, SOCK_STREAM),
            ])
        #expect(all.isEmpty && kept.unusableCount == 6)
        #expect(kept.datagrams.isEmpty && kept.listeners.isEmpty && kept.connections.isEmpty)
        for number in Int32(740)...745 { #expect(fcntl(number, F_GETFD) == -1) }
        let listener = try Listener(on: four)
        let (_, others) = try self.kept(first: 750, as: .connection, [dup(listener.descriptor.raw)])
        #expect(others.unusableCount == 1 && others.connections.isEmpty)
    }

    @Test(
        "sockets for another process, or without a valid LISTEN_PID, are left alone",
        arguments: [["LISTEN_PID": "1", "LISTEN_FDS": "1"], ["LISTEN_FDS": "1"], ["LISTEN_PID": "me"], [:]])
    func others(_ variables: [String: String]) {
        #expect(InheritedSockets { variables[$0] }.isEmpty)
    }

    @Test("a count without sense is none", arguments: ["0", "-1", "many", ""])
    func counts(_ count: String) {
        #expect(InheritedSockets { $0 == "LISTEN_PID" ? "\(getpid())" : $0 == "LISTEN_FDS" ? count : nil }.isEmpty)
    }
}

private func handOver(_ descriptor: Int32, as number: Int32) throws {
    try SystemCall.run("dup2") { dup2(descriptor, number) }
    _ = close(descriptor)
}

private func bound(_ address: SocketAddress, _ type: __socket_type, listens: Bool = false) throws -> Int32 {
    let descriptor = socket(address.family, Int32(type.rawValue), 0)
    var kernel = address.kernel
    try SystemCall.run("bind") { unsafe kernel.withPointer { unsafe bind(descriptor, $0, $1) } }
    if listens { try SystemCall.run("listen") { listen(descriptor, 1) } }
    return descriptor
}
