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
