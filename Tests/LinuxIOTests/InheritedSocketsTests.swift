// What is made of sockets that a service manager hands over, each time in a process of its own, for their numbers are
// fixed.

import Glibc
import TestSupport
import Testing

@testable import LinuxIO

@Suite("Sockets that are handed over")
struct InheritedSocketsTests {
    @Test("UDP and TCP sockets are taken as they are, and no variable is left")
    func taken() async {
        await #expect(processExitsWith: .success) {
            let address = try #require(SocketAddress("127.0.0.1:0"))
            handOver(try bound(address, SOCK_DGRAM), as: 3)
            handOver(try bound(address, SOCK_STREAM, listens: true), as: 4)
            unsafe setenv("LISTEN_PID", "\(getpid())", 1)
            unsafe setenv("LISTEN_FDS", "2", 1)
            let sockets = InheritedSockets()
            #expect(sockets.unusable == [])
            #expect(sockets.datagrams.count == 1 && sockets.listeners.count == 1)
            #expect(sockets.datagrams.first?.address.port != 0)
            for number in Int32(3)...4 {
                #expect(fcntl(number, F_GETFD) == FD_CLOEXEC)
                #expect(fcntl(number, F_GETFL) & O_NONBLOCK != 0)
            }
            for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { #expect(Environment.value(of: name) == nil) }
            #expect(InheritedSockets().isEmpty)
        }
    }

    @Test("what is of no use is named, with what to do")
    func unusable() async {
        await #expect(processExitsWith: .success) {
            let (four, six) = (try #require(SocketAddress("127.0.0.1:0")), try #require(SocketAddress("[::]:0")))
            handOver(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0), as: 3)
            handOver(try bound(four, SOCK_STREAM), as: 4)
            handOver(try bound(six, SOCK_DGRAM), as: 5)
            handOver(unsafe open("/dev/null", O_RDONLY), as: 6)
            _ = close(7)
            let sockets = InheritedSockets {
                ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "5", "LISTEN_FDNAMES": "control::dns"][$0]
            }
            #expect(sockets.datagrams.isEmpty && sockets.listeners.isEmpty && !sockets.isEmpty)
            let said = zip(
                sockets.unusable,
                [
                    "descriptor 3 (control) is a UNIX socket; take it out", "descriptor 4 is one connection",
                    "descriptor 5 (dns) takes IPv4 at [::]:", "descriptor 6 is no socket", "descriptor 7 is not open",
                ])
            for (text, start) in said { #expect(text.hasPrefix(start), "\(text)") }
            #expect(sockets.unusable.count == 5)
        }
    }

    @Test(
        "what is meant for another process, or for nobody, is left alone",
        arguments: [["LISTEN_PID": "1", "LISTEN_FDS": "1"], ["LISTEN_FDS": "1"], ["LISTEN_PID": "me"], [:]])
    func others(_ variables: [String: String]) {
        #expect(InheritedSockets { variables[$0] }.isEmpty)
    }

    @Test("a count without sense is none", arguments: ["0", "-1", "many", ""])
    func counts(_ count: String) {
        #expect(InheritedSockets { $0 == "LISTEN_PID" ? "\(getpid())" : $0 == "LISTEN_FDS" ? count : nil }.isEmpty)
    }
}

private func handOver(_ descriptor: Int32, as number: Int32) {
    _ = dup2(descriptor, number)
}

/// Not owned by anybody.
private func bound(_ address: SocketAddress, _ type: __socket_type, listens: Bool = false) throws -> Int32 {
    let descriptor = socket(address.family, Int32(type.rawValue), 0)
    var kernel = address.kernel
    try SystemCall.run("bind") { unsafe kernel.withPointer { unsafe bind(descriptor, $0, $1) } }
    if listens { try SystemCall.run("listen") { listen(descriptor, 1) } }
    // Out of the way of the numbers that are handed over.
    return fcntl(descriptor, F_DUPFD, 100)
}
