// UDP over loopback.

import DNSWire
import Glibc
import Testing

@testable import LinuxIO

struct DatagramSocketTests {
    @Test("a datagram goes there and an answer comes back", arguments: ["127.0.0.1:0", "[::1]:0"])
    func exchange(text: String) throws {
        let server = try DatagramSocket(serving: #require(SocketAddress(text)))
        let client = try DatagramSocket(connectedTo: server.localAddress())
        #expect(try client.receive(maxBytes: 10) == .wouldBlock)
        #expect(try client.send([1, 2, 3].span) == .sent)
        try #require(becomesReady(server.descriptor.raw))
        var kernel = SocketAddress.Kernel()
        var buffer = [UInt8](repeating: 0, count: 16)
        let received = unsafe kernel.withPointer { unsafe recvfrom(server.descriptor.raw, &buffer, 16, 0, $0, &$1) }
        #expect(received == 3)
        #expect(try SocketAddress(kernel.storage) == client.localAddress())
        let sent = unsafe kernel.withPointer { unsafe sendto(server.descriptor.raw, &buffer, 3, 0, $0, $1) }
        #expect(sent == 3)
        try #require(becomesReady(client.descriptor.raw))
        #expect(try client.receive(maxBytes: 10) == .datagram([1, 2, 3]))
    }

    @Test func `a port without a listener is refused, as a value`() throws {
        let address = try #require(SocketAddress("127.9.9.9:0"))
        let gone = try DatagramSocket(serving: address).localAddress()
        let client = try DatagramSocket(connectedTo: gone)
        #expect(try client.send([1].span) == .sent)
        try #require(becomesReady(client.descriptor.raw))
        #expect(try client.receive(maxBytes: 10) == .refused)
        #expect(try client.send([1].span) == .sent)
        try #require(becomesReady(client.descriptor.raw))
        #expect(try client.send([1].span) == .refused)
    }

    @Test func `an empty datagram is one, and a long one comes cut`() throws {
        let (client, server) = try connectedPair()
        #expect(try client.send([UInt8]().span) == .sent)
        #expect(try client.send([1, 2, 3, 4].span) == .sent)
        try #require(becomesReady(server.descriptor.raw))
        #expect(try server.receive(maxBytes: 2) == .datagram([]))
        #expect(try server.receive(maxBytes: 2) == .datagram([1, 2]))
        #expect(try server.receive(maxBytes: 2) == .wouldBlock)
    }

    @Test func `a connected socket receives from its peer alone`() throws {
        let (client, _) = try connectedPair()
        let stranger = try DatagramSocket(connectedTo: client.localAddress())
        _ = try stranger.send([6].span)
        #expect(try client.receive(maxBytes: 10) == .wouldBlock)
    }

    @Test func `what the kernel drops for want of room is counted`() throws {
        let (client, server) = try connectedPair()
        #expect(server.lostDatagrams == 0)
        let datagram = [UInt8](repeating: 7, count: 1200)
        // Each datagram takes at least its own size of a buffer that the kernel may have doubled.
        let enough = 4 * Int(DatagramSocket.receiveBufferBytes) / datagram.count
        var sent = 0
        for _ in 0..<enough where try client.send(datagram.span) == .sent { sent += 1 }
        var received = 0
        while case .datagram = try server.receive(maxBytes: 1) { received += 1 }
        #expect(received < sent)
        #expect(Int(server.lostDatagrams) == sent - received)
    }

    @Test func `several sockets may serve one address`() throws {
        let first = try DatagramSocket(serving: #require(SocketAddress("127.0.0.1:0")))
        let address = try first.localAddress()
        let second = try DatagramSocket(serving: address)
        #expect(try second.localAddress() == address)
    }

    @Test func `an address that is not ours is an error that names bind`() throws {
        let foreign = try #require(SocketAddress("192.0.2.1:0"))
        #expect(throws: SystemError(call: "bind", code: EADDRNOTAVAIL)) { try DatagramSocket(serving: foreign) }
    }

    @Test func `only wildcard sockets report destinations, and none learns a path MTU`() throws {
        let bound = try DatagramSocket(serving: #require(SocketAddress("127.0.0.1:0")))
        let wildcard = try DatagramSocket(serving: #require(SocketAddress("0.0.0.0:0")))
        let wildcard6 = try DatagramSocket(serving: #require(SocketAddress("[::]:0")))
        #expect(try bound.descriptor.option(Int32(IPPROTO_IP), IP_PKTINFO) == 0)
        #expect(try wildcard.descriptor.option(Int32(IPPROTO_IP), IP_PKTINFO) == 1)
        #expect(try wildcard6.descriptor.option(Int32(IPPROTO_IPV6), IPV6_RECVPKTINFO) == 1)
        #expect(try wildcard6.descriptor.option(Int32(IPPROTO_IPV6), IPV6_V6ONLY) == 1)
        #expect(try bound.descriptor.option(Int32(IPPROTO_IP), IP_MTU_DISCOVER) == IP_PMTUDISC_OMIT)
        #expect(try wildcard6.descriptor.option(Int32(IPPROTO_IPV6), IPV6_MTU_DISCOVER) == IPV6_PMTUDISC_OMIT)
    }

    /// Two sockets that are connected to each other.
    private func connectedPair() throws -> (DatagramSocket, DatagramSocket) {
        let server = try DatagramSocket(serving: #require(SocketAddress("127.0.0.1:0")))
        let client = try DatagramSocket(connectedTo: server.localAddress())
        _ = try server.descriptor.connectSocket(to: client.localAddress())
        return (client, server)
    }
}
