// The ports that the daemon binds, and its error text if it cannot.

import DNSWire
import LinuxIO
import Settings
import Testing

@testable import Daemon

@Suite("Ports")
struct PortBindingTests {
    private func places(_ texts: String...) throws -> [ListenPlace] {
        try texts.map { .address(try #require(SocketAddress($0))) }
    }

    @Test("port 0 is one port, the kernel's choice, for TCP and for every thread's UDP socket")
    func anyPort() throws {
        let ports = try PortBinding(places("127.0.0.1:0"), threads: 3)
        let address = try #require(ports.addresses.first)
        #expect(ports.addresses.count == 1 && address.port != 0)
        #expect(ports.listeners.count == 1 && ports.places == ["\(address)"])
        #expect(try StreamSocket(connectingTo: address).connectOutcome() == .connected)
        #expect(ports.datagrams.count == 3)
        for sockets in ports.datagrams { #expect(try sockets.map { try $0.localAddress() } == [address]) }
    }

    @Test("an address that the machine does not have yet is bound, over IPv4 and IPv6", arguments: [0, 1])
    func absentAddress(index: Int) throws {
        let wanted = try places("192.0.2.1:0", "[2001:db8::1]:0")[index]
        let ports = try PortBinding([wanted], threads: 2)
        #expect(ports.leftOut.isEmpty && ports.addresses.map(\.address) == [wanted].addresses.map(\.address))
        let bound = try #require(ports.addresses.first)
        #expect(try ports.datagrams.flatMap { try $0.map { try $0.localAddress() } } == [bound, bound])
    }

    @Test("threads share out the UDP sockets of the former process, and bind what they lack", arguments: [1, 2, 3, 5])
    func reused(threads: Int) throws {
        let listener = try Listener(on: try #require(SocketAddress("127.0.0.1:0")))
        let address = try listener.localAddress()
        let kept = try (0..<3).map { _ in try DatagramSocket(serving: address) }
        let ports = try PortBinding(
            [.address(address)], threads: threads, reusing: [ReusedSockets(listener: listener, datagrams: kept)])
        #expect(ports.datagrams.count == threads && ports.datagrams.allSatisfy { !$0.isEmpty })
        let sockets = Array(ports.datagrams.joined())
        #expect(sockets.count == max(threads, 3))
        #expect(kept.allSatisfy { old in sockets.contains { $0 === old } })
        for socket in sockets { #expect(try socket.localAddress() == address) }
        #expect(try ports.areReused && !PortBinding(places("127.0.0.1:0"), threads: 1).areReused)
        let descriptors = [listener.descriptor.raw] + sockets.map { $0.descriptor.raw }
        #expect(ports.descriptorsToKeep == descriptors)
    }

    @Test("a port in use is named with the program that holds it")
    func portInUse() throws {
        let first = try PortBinding(places("127.0.0.1:0"), threads: 1)
        let failure = #expect(throws: PortBinding.Failure.self) {
            try PortBinding(first.addresses.map { .address($0) }, threads: 1)
        }
        #expect(failure?.description.contains("\(first.addresses[0]) (tcp)") == true)
        #expect(failure?.description.contains("(pid \(Machine.processID))") == true)
    }
}
