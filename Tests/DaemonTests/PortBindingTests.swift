// Ports: what is bound, and what is said when it can't be.

import DNSWire
import LinuxIO
import Testing

@testable import Daemon

@Suite("Ports")
struct PortBindingTests {
    private func addresses(_ texts: String...) throws -> [SocketAddress] {
        try texts.map { try #require(SocketAddress($0)) }
    }

    @Test("port 0 is one port, the kernel's choice, for TCP and for every thread's UDP socket")
    func anyPort() throws {
        let ports = try PortBinding(addresses("127.0.0.1:0"), threads: 3, mayLackSome: false)
        let address = try #require(ports.addresses.first)
        #expect(ports.addresses.count == 1 && address.port != 0)
        #expect(try ports.listeners.map { try $0.localAddress() } == [address])
        #expect(ports.datagrams.count == 3)
        for sockets in ports.datagrams { #expect(try sockets.map { try $0.localAddress() } == [address]) }
    }

    @Test("an address that the machine does not have is named, with what to do")
    func missingAddress() throws {
        let wanted = try addresses("127.0.0.1:0", "240.0.0.1:0")
        let failure = #expect(throws: PortBinding.Failure.self) {
            try PortBinding(wanted, threads: 1, mayLackSome: false)
        }
        let text = try #require(failure?.description)
        #expect(text.contains("240.0.0.1:0 (tcp)") && text.contains("no such address here"))
        #expect(text.contains("set server.listen"))
    }

    @Test("where some may be lacking, a missing address is left out and the others serve")
    func leftOut() throws {
        let wanted = try addresses("240.0.0.1:0", "127.0.0.1:0")
        let ports = try PortBinding(wanted, threads: 2, mayLackSome: true)
        #expect(ports.leftOut.map(\.address) == [wanted[0]])
        #expect(ports.listeners.count == 1 && ports.datagrams.map(\.count) == [1, 1])
    }

    @Test("with nothing to listen on, the start fails all the same")
    func nothingLeft() throws {
        let wanted = try addresses("240.0.0.1:0", "240.0.0.2:0")
        let failure = #expect(throws: PortBinding.Failure.self) {
            try PortBinding(wanted, threads: 1, mayLackSome: true)
        }
        #expect(failure?.address == wanted[0])
    }

    @Test("a port in use is named with who holds it, also where addresses may be lacking")
    func portInUse() throws {
        let first = try PortBinding(addresses("127.0.0.1:0"), threads: 1, mayLackSome: false)
        let failure = #expect(throws: PortBinding.Failure.self) {
            try PortBinding(first.addresses, threads: 1, mayLackSome: true)
        }
        #expect(failure?.description.contains("\(first.addresses[0]) (tcp)") == true)
        #expect(failure?.description.contains("(pid \(Machine.processID))") == true)
    }
}
